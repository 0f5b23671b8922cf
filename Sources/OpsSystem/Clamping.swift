/// Arithmetic for numbers that others choose (sizes of their files, durations they ask for): a result that does not fit
/// is the nearest that does, where `+` and `*` would end the process.
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
