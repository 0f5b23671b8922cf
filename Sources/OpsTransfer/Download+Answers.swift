/// The answers of the server.
extension Download: ExchangeReceiver {
    func exchangeConnected() { setWaiting(false) }

    func receive(_ head: ResponseHead) -> Bool {
        switch head.answer(to: resume, checksumIsKnown: request.checksum != nil) {
        case .content(let content): return begin(content)
        case .redirect(let location): next = .follow(location)
        case .startAgain(let reason): next = .startAgain(reason)
        case .failure(let failure):
            next = .fail(
                Failure(failure.kind, "\(address): \(failure.message)", retryAfter: failure.retryAfter))
        }
        return false
    }

    private func begin(_ content: Answer.Content) -> Bool {
        self.content = content
        if resume != nil && content.start == nil {
            notify("\(address): the server does not continue the file; starting again")
        }
        if let start = content.start {
            begin(.lastByte, at: start)
        } else {
            begin(.firstByte(record(of: content)), at: 0)
        }
        collect()
        // A pause before the first byte of the body.
        if isPaused { pauseExchange() }
        return true
    }

    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let content else {
            next = .fail(Failure(.wrongContent, "\(address): the server sent a body and no file"))
            return false
        }
        unsafe writes.bytes.append(contentsOf: bytes)
        position += Int64(bytes.count)
        if let length = content.length, position > length {
            next = .fail(Failure(.wrongContent, "\(address): the body is longer than the \(length) bytes of the file"))
            return false
        }
        collect()
        if writes.bytes.count >= Download.memoryLimit {
            write()
            if !writes.isEmpty {
                isFull = true
                pauseExchange()
            }
        }
        return true
    }

    func exchangeEnded(_ end: ExchangeEnd) {
        exchange = nil
        switch (end, next) {
        case (_, .follow(let location)?): follow(location)
        case (_, .startAgain(let reason)?): startAgain(because: reason)
        case (_, .fail(let failure)?): finish(.failure(failure))
        case (.failed(let failure), nil) where hasBeenPaused && failure.kind == .retryable:
            write()
            ask()
        case (.failed(let failure), nil): finish(.failure(failure))
        case (.complete, nil), (.stopped, nil): completeBody()
        }
    }

    private func record(of content: Answer.Content) -> ResumeRecord? {
        guard let validator = content.validator else { return nil }
        return ResumeRecord(
            address: request.address.text, resource: address.resource, validator: validator, length: content.length,
            synced: 0, boot: "")
    }
}
