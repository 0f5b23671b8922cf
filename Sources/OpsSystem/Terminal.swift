internal import COpsSpawn
internal import Glibc

/// Terminal of the user.
public enum Terminal {
    public static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// Returns the size; `nil`: the descriptor is no terminal, or has no known size.
    public static func size(of descriptor: Int32) -> (columns: Int, rows: Int)? {
        var columns: Int32 = 0
        var rows: Int32 = 0
        guard unsafe ops_terminal_size(descriptor, &columns, &rows) == 0, columns > 0, rows > 0 else { return nil }
        return (Int(columns), Int(rows))
    }
}
