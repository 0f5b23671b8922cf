/// A value on its way to a side thread or back. It is moved, not copied: with a second owner, the next change would
/// copy all of it.
///
/// Unchecked: the sender keeps no reference to the value, and it is received once, after the thread's mailbox has passed it on.
final class Transferred<Value: ~Copyable>: @unchecked Sendable {
    private var value: Value?

    init(_ value: consuming Value) { self.value = consume value }

    func consume() -> Value {
        guard let taken = value.take() else { preconditionFailure("a moved value is consumed once") }
        return taken
    }
}
