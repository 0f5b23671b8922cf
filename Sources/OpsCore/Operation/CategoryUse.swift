/// Shares of a category within a group.
extension CategoryUse {
    /// Refuses the use of a category by an operation that a group around it cannot grant from its own use.
    func check(of operation: DraftEdge.Target, fits share: CategoryUse?) throws(Rejection) {
        guard let share else { return }
        switch share.mode {
        case .exclusive: return
        case .shared:
            // A group that shares a category with others cannot give a child anything exclusively.
            if mode != .shared { throw .unitsExceedShare(self, operation, of: share) }
        case .units:
            if mode == .units, units > share.units { throw .unitsExceedShare(self, operation, of: share) }
        }
    }
}
