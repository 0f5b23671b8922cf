/// The children of a group, or of an operation that has produced some.
struct Group: Codable {
    let parent: OperationIndex
    /// Ids of children. Those that have finished are removed from time to time.
    var children: [Int64] = []
    var unfinished: Int32 = 0
    /// Child processes that count against `limit`.
    var running: Int32 = 0
    var limit: Int32?
    var unsuccessful: Int32 = 0
    var firstUnsuccessful = OperationID(0)
    /// The highest effective priority among the operations that wait for the end of the group. Every child inherits it.
    var inherited = Int8.min
    /// Scopes of the categories that the parent holds, for its children.
    var scopes: [HeldScope] = []
    var parked = ParkedLanes()
    var parkedCount = 0

    var hasRoom: Bool { limit.map { running < $0 } ?? true }
}

/// A category that a group holds, and its share as its children see it.
struct HeldScope: Codable {
    let base: CategoryIndex
    let scope: CategoryIndex
}
