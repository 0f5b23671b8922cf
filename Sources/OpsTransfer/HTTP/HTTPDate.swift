internal import CCurl

enum HTTPDate {
    /// Returns the seconds since 1970 of a date in a header; nil where it is none.
    static func seconds(_ text: String) -> Int64? {
        let time = unsafe curl_getdate(text, nil)
        return time >= 0 ? Int64(time) : nil
    }
}
