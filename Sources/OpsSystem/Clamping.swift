/// Arithmetic for numbers that users choose (sizes of files, durations). A result that does not fit is replaced by the
/// nearest value that does; `+` and `*` would end the process.
extension FixedWidthInteger {
    public func clampedSum(_ other: Self) -> Self {
        let (sum, overflowed) = addingReportingOverflow(other)
        return overflowed ? (other < 0 ? .min : .max) : sum
    }

    public func clampedProduct(_ other: Self) -> Self {
        let (product, overflowed) = multipliedReportingOverflow(by: other)
        return overflowed ? ((self < 0) == (other < 0) ? .max : .min) : product
    }
}
