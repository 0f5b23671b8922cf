/// Removes comments and trailing commas from the text of a JSON file, which JSON itself does not allow.
enum JSONComments {
    /// Returns the text with spaces in place of comments (`//` and `/* */`) and trailing commas, so that everything
    /// else keeps its position. A comment without an end stays, and the JSON reader refuses it.
    static func blanked(_ text: [UInt8]) -> [UInt8] {
        guard text.contains(where: { $0 == slash || $0 == comma }) else { return text }
        var bytes = text
        var position = 0
        var lastComma: Int?
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                lastComma = nil
                position = endOfString(bytes, position)
            case slash:
                guard let end = endOfComment(bytes, position) else { return bytes }
                // Newlines stay, so that lines keep their numbers.
                for index in position..<end where bytes[index] != 0x0a { bytes[index] = 0x20 }
                position = end
            case comma:
                // The second of two commas is an error and stays.
                let isFirst = lastComma == nil
                lastComma = isFirst && hasValueBefore(bytes, position) ? position : nil
                position += 1
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                if let comma = lastComma { bytes[comma] = 0x20 }
                lastComma = nil
                position += 1
            case 0x20, 0x09, 0x0a, 0x0d: position += 1
            default:
                lastComma = nil
                position += 1
            }
        }
        return bytes
    }

    private static let slash = UInt8(ascii: "/")
    private static let comma = UInt8(ascii: ",")

    private static func hasValueBefore(_ bytes: [UInt8], _ position: Int) -> Bool {
        let before = bytes[..<position].last { $0 != 0x20 && $0 != 0x09 && $0 != 0x0a && $0 != 0x0d }
        return before.map { !"[{,:".utf8.contains($0) } ?? false
    }

    /// Returns the position after a string.
    private static func endOfString(_ bytes: [UInt8], _ start: Int) -> Int {
        var position = start + 1
        while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
            position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(position + 1, bytes.count)
    }

    private static func endOfComment(_ bytes: [UInt8], _ start: Int) -> Int? {
        guard start + 1 < bytes.count else { return nil }
        switch bytes[start + 1] {
        case slash: return bytes[start...].firstIndex(of: 0x0a) ?? bytes.count
        case UInt8(ascii: "*"):
            var position = start + 2
            while position + 1 < bytes.count {
                if bytes[position] == UInt8(ascii: "*"), bytes[position + 1] == slash { return position + 2 }
                position += 1
            }
            return nil
        default: return nil
        }
    }
}
