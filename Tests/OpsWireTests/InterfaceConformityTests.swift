import Testing

@testable import OpsWire

/// Compares the interface file with the Swift types, member by member.
@Suite struct InterfaceConformityTests {
    private let file: InterfaceFile

    init() throws { file = try InterfaceFile(ControlInterface.description) }

    private func method<Request: WireRequest>(_ request: Request.Type) throws -> InterfaceFile.Method {
        InterfaceFile.Method(
            name: Request.method, parameters: try FieldSchema(of: request).members,
            reply: try FieldSchema(of: Request.Reply.self).members)
    }

    private func expect<Errors: WireErrorCases>(_ type: Errors.Type, in file: InterfaceFile) throws {
        #expect(Errors.examples.map(\.name) == file.errors.map(\.name))
        for (mine, its) in zip(Errors.examples, file.errors) {
            #expect(try FieldSchema(of: mine).members == its.members)
        }
    }

    @Test func `the interface has the name in the file`() { #expect(file.name == ControlInterface.name) }

    @Test func `the methods are those in the file`() throws {
        let swift = try ControlRequest.methods.map { try method($0.request) }
        #expect(swift.map(\.name) == file.methods.map(\.name))
        for (mine, its) in zip(swift, file.methods) { #expect(mine == its) }
    }

    @Test func `the types are those in the file`() throws {
        let records: [any WireRecord.Type] = [
            Selection.self, Capture.self, Problem.self, Submitted.self, DependencyRow.self, CategoryUseRow.self,
            UsageRow.self, ProgressRow.self, OperationRow.self, DetailsRow.self, AttemptRow.self, ReasonRow.self,
            QueueRow.self,
            CategoryUnitRow.self, ExecutorRow.self, CategoryRow.self, CountsRow.self, EventRow.self, LogTimeRow.self,
            EndedRow.self, NodeRow.self,
            HistogramRow.self, OutcomeCountsRow.self, QueueMetricsRow.self, CategoryMetricsRow.self,
            ScheduleMetricsRow.self,
            GraphSummaryRow.self, EdgeRow.self, ScheduleRow.self, ScheduleLastRow.self, ScheduleRunRow.self,
            ScheduleNextRow.self, ScheduleReasonRow.self,
        ]
        #expect(records.map { $0.typeName } == file.types.map(\.name))
        for (record, type) in zip(records, file.types) { #expect(try FieldSchema(of: record).members == type.members) }
    }

    @Test func `the errors are those in the file`() throws { try expect(ControlError.self, in: file) }

    @Test func `the service interface has the methods and errors in its file`() throws {
        let file = try InterfaceFile(ServiceInterface.description)
        let requests: [any WireRequest.Type] = [GetInfoRequest.self, GetInterfaceDescriptionRequest.self]
        #expect(try requests.map { try method($0) } == file.methods)
        try expect(ServiceError.self, in: file)
    }

    @Test func `a call of every method is recognised, and an unknown parameter refused`() throws {
        for method in file.methods {
            let text = #"{"method":"\#(file.name).\#(method.name)","parameters":{"noSuchParameter":1},"more":true}"#
            let call = try Call(frame: Array(text.utf8))
            #expect(throws: ServiceError.self, "\(method.name)") { try ControlRequest(call) }
            do throws(ServiceError) { _ = try ControlRequest(call) } catch {
                #expect(error != .methodNotFound(call.method))
            }
        }
    }

    // MARK: - Messages made from the file, read and written by both sides

    private func samples(omitsAbsent: Bool) -> [InterfaceSample] {
        [.all, .none].map { InterfaceSample(file: file, optionals: $0, omitsAbsent: omitsAbsent) }
    }

    @Test func `a client writes every parameter of every method, and the daemon reads it`() throws {
        func check<Request: WireRequest>(_: Request.Type, _ method: InterfaceFile.Method) throws {
            for sample in samples(omitsAbsent: true) {
                let text =
                    #"{"method":"\#(file.name).\#(method.name)","parameters":\#(try sample.object(method.parameters)),"#
                    + #""more":true}"#
                let call = try Call(frame: Array(text.utf8))
                _ = try ControlRequest(call)
                let frame = Call.frame(try Request(call), more: true)
                #expect(String(decoding: frame, as: UTF8.self) == text + "\0")
            }
        }
        for (swift, method) in zip(ControlRequest.methods, file.methods) { try check(swift.request, method) }
    }

    @Test func `the daemon writes every field of every reply, and a client reads it`() throws {
        func check<Request: WireRequest>(_: Request.Type, _ method: InterfaceFile.Method) throws {
            for var sample in samples(omitsAbsent: false) {
                let text = #"{"parameters":\#(try sample.object(method.reply))}"#
                let result: Request.Reply = try ReceivedReply(frame: Array(text.utf8)).result()
                #expect(String(decoding: Reply.frame(result), as: UTF8.self) == text + "\0")
                sample.hasStrangers = true
                let later = Array(#"{"parameters":\#(try sample.object(method.reply)),"ofLater":1}"#.utf8)
                #expect(try ReceivedReply(frame: later, isTolerant: true).result() == result)
                #expect(throws: InvalidParameter.self) {
                    try ReceivedReply(frame: later).result(Request.Reply.self)
                }
            }
        }
        for (swift, method) in zip(ControlRequest.methods, file.methods) { try check(swift.request, method) }
    }

    @Test func `a client reads every error with all of its parameters`() throws {
        for error in file.errors {
            for sample in samples(omitsAbsent: false) {
                let text =
                    #"{"error":"\#(file.name).\#(error.name)","parameters":\#(try sample.object(error.members))}"#
                for isTolerant in [false, true] {
                    let reply = try ReceivedReply(frame: Array(text.utf8), isTolerant: isTolerant)
                    guard case .control(let read)? = reply.failure else {
                        Issue.record("\(text)")
                        continue
                    }
                    #expect(String(decoding: Reply.frame(read), as: UTF8.self) == text + "\0")
                }
            }
        }
    }
}
