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
        func watch(_ path: String) -> FileWatch.Token? {
            // A file without a watch is read again at instants of schedules.
            try? fileWatch.watchFiles(of: path) { [unowned self] in
                zonesChanged.set(after: Self.settling)
            }
        }
        let path = ZoneFiles.path(of: name)
        // Its directory reports the arrival of a missing file.
        let directory = String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)])
        zoneWatches[name] = .some(watch(path) ?? watch(directory))
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
        let instant = UnixTime(flooring: now.wall)
        try repair(at: instant)
        let read = readZones()
        // Due instants are decided by the old rules, which made them due.
        for schedule in all where !schedule.isCommitting && schedule.nextStart ?? .latest > instant {
            let former = schedule.definition.zones
            guard former.contains(where: { name, rules in read[name].map { $0 != rules } ?? false }) else { continue }
            log.notice("schedule \(schedule.name): the rules of its time zone have changed")
            let zones = ZoneReader(former.merging(read) { $1 })
            _ = try update(schedule, ScheduleDefinition(schedule.stored, zones))
        }
    }

    /// Returns the rules of the zones of all schedules, except zones whose files are missing or damaged: these keep the
    /// rules that they had.
    private func readZones() -> [String: ZoneRules] {
        var read: [String: ZoneRules] = [:]
        for name in Set(all.flatMap(\.definition.zones.keys)) {
            var problem: String?
            do {
                read[name] = try ZoneFiles.rules(of: name)
                if read[name] == nil { problem = "it is missing" }
            } catch {
                problem = "\(error)"
            }
            guard let problem else {
                unreadableZones.remove(name)
                continue
            }
            if unreadableZones.insert(name).inserted {
                log.warning("time zone \(name) keeps its former rules: \(ZoneFiles.path(of: name)): \(problem)")
            }
        }
        return read
    }
}
