internal import OpsCalendar
internal import OpsCore
internal import OpsStore
internal import OpsSystem
internal import OpsSystemd
internal import OpsWire

/// Time zones of schedules, whose files an update of the system may change.
extension Schedules {
    /// Time after which a changed file is read: an upgrade changes many.
    private static let settling = TimeSpan.seconds(1)

    func watchZones(of schedule: Schedule) {
        for name in schedule.definition.zoneNames where zoneWatches[name] == nil { watchZone(name) }
    }

    private func watchZone(_ name: String) {
        // A file without a watch is read again at instants of schedules.
        let token = try? fileWatch.watchFiles(of: ZoneName.folder + "/" + name) { [unowned self] in
            zonesChanged.set(after: Self.settling)
        }
        zoneWatches[name] = .some(token)
    }

    /// Watches replaced files again: their old watches have ended.
    private func renewZoneWatches() {
        for (name, token) in zoneWatches {
            if let token { fileWatch.cancel(token) }
            watchZone(name)
        }
    }

    /// Reads the files again, at most once a minute unless one has changed, and passes changed rules to the schedules.
    func rereadZones(_ now: Moment) throws {
        guard zonesReadAt == .distantPast || now.monotonic - zonesReadAt >= Self.absence else { return }
        if zonesReadAt == .distantPast { renewZoneWatches() }
        zonesReadAt = now.monotonic
        var read: [String: ZoneRules?] = [:]
        let instant = UnixTime(flooring: now.wall)
        // Due instants are decided by the old rules, which made them due.
        for schedule in all where !schedule.isCommitting && schedule.nextStart ?? .latest > instant {
            let definition = schedule.definition
            let hasChanged = try definition.recurrences.all.contains { recurrence in
                guard let name = definition.zoneName(of: recurrence) else { return false }
                let rules = try read[name] ?? ZoneFiles.rules(of: name)
                read[name] = rules
                // A zone without a file keeps the rules that it had.
                return rules.map { $0 != recurrence.zone } ?? false
            }
            guard hasChanged else { continue }
            log.notice("schedule \(schedule.name): the rules of its time zone have changed")
            let start = UnixTime(flooring: schedule.stored.addedAt)
            _ = try update(schedule, ScheduleDefinition(stored: definition.text, start: start))
        }
    }
}
