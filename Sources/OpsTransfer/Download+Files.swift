/// The changes of the partial file, made by one job at a time.
extension Download {
    func begin(_ start: FileWrites.Start, at position: Int64) {
        writes = FileWrites(start: start)
        self.position = position
        record = if case .firstByte(let record) = start { record } else { record }
    }

    /// Called by the engine at the end of a step in which changes were collected.
    func endStep() {
        isCollected = false
        if exchange != nil { write() }
    }

    func collect() {
        if !isCollected { engine.collect(self) }
        isCollected = true
    }

    /// Hands the changes over to a job, unless one is under way.
    func write() {
        guard !files.isBusy, !writes.isEmpty else { return }
        let (file, writes) = (file, writes)
        self.writes = FileWrites()
        files.run({ () throws(Failure) in try file.write(writes) }, then: { [self] in endJob($0) })
    }

    /// Writes the last changes, verifies the file and puts it in place.
    func complete() {
        guard !isPaused else {
            step = .complete
            return
        }
        guard !files.isBusy else {
            afterJob = { [unowned self] in complete() }
            return
        }
        let (file, writes, checksum, umask) = (file, writes, request.checksum, request.umask)
        self.writes = FileWrites()
        files.runSteps(
            { (step) throws(Failure) in
                try file.complete(writes, step: step, checksum: checksum, umask: umask)
            }, then: { [self] in endJob($0) })
    }

    private func endJob(_ result: Result<FileState, Failure>) {
        switch result {
        case .success(let state):
            written = state.size
            if state.outcome == .hasChanged { writes = FileWrites() }
        case .failure: writes = FileWrites()
        }
        guard !handleEnd() else { return }
        switch result {
        case .success(let state): proceed(after: state)
        case .failure(let failure):
            stopExchange()
            afterJob = nil
            finish(.failure(failure))
        }
    }

    private func proceed(after state: FileState) {
        switch state.outcome {
        case .hasChanged:
            restart(because: "the file has changed on the server, although its validator has not")
        case .isInPlace: finish(.success(written))
        case .isUnverified: complete()
        case .hasWrongChecksum(let found):
            let reason = "the checksum is \(found), not \(request.checksum?.description ?? "")"
            if content?.start != nil {
                restart(because: reason)
            } else {
                finish(.failure(Failure(.wrongContent, "\(address): \(reason)")))
            }
        case .written:
            if let action = afterJob {
                afterJob = nil
                action()
            } else {
                write()
            }
            if isFull {
                isFull = false
                pauseExchange()
            }
        }
    }

    private func restart(because reason: String) {
        stopExchange()
        afterJob = nil
        startAgain(because: reason)
    }

    func close(keeping: Bool, then done: @escaping () -> Void) {
        isEnding = true
        let end = { [self] (failure: Failure?) in
            if let failure { notify(failure.message) }
            done()
        }
        // A job that has not begun to open the file is not needed any more.
        if !isOpen && (!files.isBusy || files.drop()) {
            return keeping ? done() : removePartialFile(then: end)
        }
        let action = { [self] in
            guard isOpen else { return done() }
            let (file, writes) = (file, writes)
            self.writes = FileWrites()
            files.run { () throws(Failure) in
                try file.close(writes, keeping: keeping)
            } then: { result in
                if case .failure(let failure) = result { end(failure) } else { end(nil) }
            }
        }
        if files.isBusy { afterJob = action } else { action() }
    }

    /// Takes the action that ends the download, if it is ending.
    func handleEnd() -> Bool {
        guard isEnding else { return false }
        let action = afterJob
        afterJob = nil
        action?()
        return true
    }
}
