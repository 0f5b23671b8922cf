internal import OpsCalendar
internal import OpsCore
internal import OpsStore
internal import OpsSystem
internal import OpsWire

/// Time zones of schedules, whose files an update of the system may change.
extension Schedules {
    /// Reads the files again, at most once a minute, and passes changed rules to the schedules.
    func rereadZones(_ now: Moment) throws {
        guard now.monotonic - zonesReadAt >= Self.absence else { return }
        zonesReadAt = now.monotonic
        var read: [String: ZoneRules?] = [:]
        let instant = UnixTime(flooringNanoseconds: now.wall)
        // Due instants are decided by the rules by which they came.
        for schedule in all where !schedule.isCommitting && schedule.nextStart ?? .latest > instant {
            let definition = schedule.definition
            let hasChanged = try definition.recurrences.all.contains { recurrence in
                guard let name = recurrence.expression.zoneName ?? definition.request.zone else { return false }
                let rules = try read[name] ?? ZoneFiles.rules(of: name)
                read[name] = rules
                // A zone without a file keeps the rules that it had.
                return rules.map { $0 != recurrence.zone } ?? false
            }
            guard hasChanged else { continue }
            log.notice("schedule \(schedule.name): the rules of its time zone have changed")
            let start = UnixTime(flooringNanoseconds: schedule.stored.addedAt)
            _ = try update(schedule, ScheduleDefinition(stored: definition.text, start: start))
        }
    }
}
