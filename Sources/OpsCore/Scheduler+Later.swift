extension Scheduler {
    mutating func joinBarriers(_ places: [Int32]) {}
    mutating func leaveBarriers(_ place: Int32) {}
    mutating func rebuildAllBarriers() {}
    func barrierReasons(_ place: Int32) -> [OperationID] { [] }
    func barrierWaits(of place: Int32) -> [WaitNode] { [] }
    func newcomerWaits(in queue: Int32, under parent: Int32) -> [WaitNode] { [] }
    mutating func settlePriorities() {}
    mutating func raise(_ place: Int32, to priority: Int8) {}
    func waitingPriority(of place: Int32) -> Int8 { table[place].effective }
    mutating func raisePriorities(of places: [Int32], _ submission: Submission) {}
    mutating func raiseAll(_ places: [Int32]) {}
    mutating func noteWaiterLeft(_ on: Int32, _ from: Int32) {}
    func liveEffective(of place: Int32) -> Int8 { table[place].effective }
    mutating func topChanged(_ lane: Int32) {}
    mutating func clearReservation(of place: Int32) {}
    func isKeptBack(_ place: Int32, needs: [Need]) -> Bool { false }
    func keeper(of need: Need, against place: Int32) -> Int32? { nil }
    mutating func noteOvertaken(by key: UInt64, from lane: Int32, needs: [Need]) {}
    mutating func stopAsking(_ place: Int32) {}
    func isAsked(_ place: Int32, in lane: Int32) -> Bool { true }
    mutating func recheck(_ place: Int32) {}
    mutating func conditionsAnswered(_ id: OperationID, token: Int64, _ answer: ConditionAnswer) {}
    mutating func startAging(_ place: Int32) {}
    mutating func restartAging(_ queue: Int32) {}
    mutating func age(_ place: Int32) {}
    mutating func edit(_ ids: [OperationID], _ edit: Edit) throws(Rejection) -> Acceptance { .done(0) }
    public func checkInvariants() -> [String] { [] }
    mutating func resizeScopes(of category: Int32) {}
}
