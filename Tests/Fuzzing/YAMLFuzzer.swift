// Compiled by scripts/fuzz; not part of the package.

import OpsWire
import OpsYAML

/// Graph files in YAML.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: data, count: size))
    guard let document = outcome({ () throws(YAMLProblems) in try YAMLDocument(bytes) }) else { return 0 }
    var offset = -1
    for mark in document.marks {
        precondition(mark.offset > offset && mark.offset < document.json.count)
        offset = mark.offset
    }
    if document.json.isEmpty { return 0 }
    do throws(JSONError) {
        _ = try JSONValue(document.json)
    } catch {
        // Numbers of YAML can be larger and aliases deeper than those of JSON.
        switch error.reason {
        case .numberOutOfRange, .tooDeep: break
        default: preconditionFailure("the text is no JSON")
        }
    }
    return 0
}
