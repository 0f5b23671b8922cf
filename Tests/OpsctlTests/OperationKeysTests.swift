import OpsWire
import Testing

@testable import opsctl

@Suite struct OperationKeysTests {
    /// Returns the keys that options give an operation, as JSON.
    private func keys(_ options: String...) throws -> String {
        var parser = Parser(["submit"] + options + ["true"])
        var text = JSONWriter()
        text.beginObject()
        try OperationKeys(arguments: try parser.parse()).write(to: &text)
        text.endObject()
        return String(decoding: text.bytes, as: UTF8.self)
    }

    /// Returns the changes that options of `set` make, as JSON.
    private func edits(_ options: String...) throws -> String {
        var parser = Parser(["set", "1"] + options)
        var text = JSONWriter()
        text.beginObject()
        try OperationKeys(arguments: try parser.parse()).writeEdits(to: &text)
        text.endObject()
        return String(decoding: text.bytes, as: UTF8.self)
    }

    @Test func `an edit has only the given settings of a retry, but a submission needs their number`() throws {
        #expect(try edits("--retry", "5") == #"{"retry":{"limit":5}}"#)
        #expect(try edits("--retry-backoff", "30s") == #"{"retry":{"backoff":"30s"}}"#)
        #expect(
            try edits("--retry-exit-codes", "none", "--retry-scale", "none")
                == #"{"retry":{"exitCodes":null,"scale":null}}"#)
        #expect(try edits("--retry", "none") == #"{"retry":null}"#)
        let refusal = #expect(throws: Failure.self) { try keys("--retry-backoff", "30s") }
        #expect(refusal?.status == .usage && refusal?.advice == "add --retry N")
        #expect(throws: Failure.self) { try edits("--retry", "none", "--retry-backoff", "30s") }
    }

    @Test func `an observer is an array of texts or a text for the shell`() throws {
        #expect(
            try keys("--observer", #"failed=["page-me", "now"]"#) == #"{"observers":{"failed":["page-me","now"]}}"#)
        for text in ["[ -t 1 ] || page-me", "[1]", "page-me"] {
            #expect(
                try keys("--observer", "failed=" + text)
                    == #"{"observers":{"failed":["/bin/sh","-c","\#(text)"]}}"#)
        }
    }

    @Test(arguments: [
        ("db", #""db""#), ("disk:shared", #"{"name":"disk","mode":"shared"}"#), ("gpu:2", #"{"name":"gpu","units":2}"#),
        ("gpu:exclusive", #"{"name":"gpu","mode":"exclusive"}"#), ("a:b:1", #"{"name":"a:b","units":1}"#),
    ])
    func `a category is a name, with its use behind the last colon`(value: String, json: String) throws {
        #expect(try keys("--category", value) == #"{"categories":[\#(json)]}"#)
    }

    @Test(arguments: ["gpu:exclusiv", "gpu:", "gpu:2x", "gpu:1.5", "a:b"])
    func `another word behind the colon of a category is refused`(value: String) {
        let refusal = #expect(throws: Failure.self) { try keys("--category", value) }
        #expect(refusal?.status == .usage)
        #expect(refusal?.advice == "write \(value):1 if the colon is part of the name")
    }

    @Test(arguments: ["", ","]) func `a list without exit codes is refused`(value: String) {
        for option in ["--success-codes", "--retry-exit-codes"] {
            let refusal = #expect(throws: Failure.self) { try keys("--retry", "1", option, value) }
            #expect(refusal?.status == .usage && refusal?.why == "\(option) contains no exit code")
        }
    }

    @Test func `the last of several values of a key counts`() throws {
        #expect(try keys("-l", "a=1", "-l", "b=2", "-l", "a=3") == #"{"labels":{"b":"2","a":"3"}}"#)
        #expect(try keys("--limit", "nice=1", "--limit", "nice=2") == #"{"limits":{"nice":2}}"#)
        #expect(try keys("--secret", "A=/x", "--secret", "A=/y") == #"{"secrets":{"A":{"file":"/y"}}}"#)
        #expect(
            try keys("--observer", "finish=a", "--observer", "finish=b")
                == #"{"observers":{"finish":["/bin/sh","-c","b"]}}"#)
        var parser = Parser(["submit", "--env", "A=1", "--env", "B=2", "--env", "A=3", "true"])
        let variables = try OperationKeys(arguments: try parser.parse()).environment()
        #expect(variables.map { "\($0.key)=\($0.value)" } == ["B=2", "A=3"])
    }

    @Test(arguments: ["", "=", "=x"]) func `a variable without a name is refused`(value: String) throws {
        var parser = Parser(["submit", "--env", value, "true"])
        let arguments = try parser.parse()
        let refusal = #expect(throws: Failure.self) { try OperationKeys(arguments: arguments).environment() }
        #expect(refusal?.status == .usage && refusal?.advice == "write --env NAME=VALUE")
    }

    @Test func `an empty path of a secret is left to the daemon to refuse`() throws {
        #expect(try keys("--secret", "A=") == #"{"secrets":{"A":{"file":""}}}"#)
    }

    @Test func `a relative pattern of a trigger is completed here, but not for another host`() throws {
        func pattern(_ options: String...) throws -> String? {
            var parser = Parser(options + ["schedule", "add", "x", "--on-path", "in/*.csv", "true"])
            var request = AddScheduleRequest()
            ScheduleAdd.fill(&request, try parser.parse())
            return request.onPath
        }
        #expect(try pattern() == OperationKeys.absolute("in/*.csv"))
        #expect(try pattern("--host", "h") == "in/*.csv")
    }

    @Test func `relative paths of input and output are relative to the directory of the operation`() throws {
        let directory = OperationKeys.absolute("d")
        #expect(try keys("-C", "d", "--stdin", "in") == #"{"directory":"\#(directory)","stdin":"in"}"#)
        #expect(try keys("--stdout", "out") == #"{"output":{"stdout":"out","stderr":"out"}}"#)
        #expect(
            try keys("--stdout", "out", "--stderr", "/err") == #"{"output":{"stdout":"out","stderr":"/err"}}"#)
        #expect(try keys("--output", "./out") == #"{"output":{"stdout":"./out","stderr":"./out"}}"#)
    }

    @Test func `a relative path of a condition is left to the operation`() throws {
        #expect(
            try keys("--condition", "freeSpace=data:1G")
                == #"{"conditions":[{"freeSpace":{"path":"data","atLeast":"1G"}}]}"#)
        #expect(try keys("--condition", "pathExists=data") == #"{"conditions":[{"pathExists":"data"}]}"#)
    }

    @Test(arguments: [
        ("wait:!path-exists=/x=y", #"{"not":{"pathExists":"/x=y"},"otherwise":"wait"}"#),
        ("skip:dependenciesSucceeded", #"{"dependenciesSucceeded":true,"otherwise":"skip"}"#),
        ("freeSpace=1G", #"{"freeSpace":{"path":"/","atLeast":"1G"}}"#),
        ("exec=test -e x", #"{"exec":["/bin/sh","-c","test -e x"]}"#),
    ])
    func `a condition has a short form`(form: String, json: String) throws {
        #expect(try keys("--condition", form) == #"{"conditions":[\#(json)]}"#)
    }

    @Test(arguments: ["pathExists", "path=/x", "later:pathExists=/x", "{"])
    func `a condition of another form is refused`(form: String) {
        let refusal = #expect(throws: Failure.self) { try keys("--condition", form) }
        #expect(refusal?.status == .usage)
    }

    @Test func `a load that is no finite number is left to the daemon to refuse`() throws {
        #expect(try keys("--condition", "loadBelow=2") == #"{"conditions":[{"loadBelow":2.0}]}"#)
        #expect(try keys("--condition", "loadBelow=nan") == #"{"conditions":[{"loadBelow":"nan"}]}"#)
    }
}
