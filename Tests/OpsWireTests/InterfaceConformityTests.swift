import Testing

@testable import OpsWire

/// Holds the interface file and the Swift types together, member by member.
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

    @Test func nameIsTheFiles() { #expect(file.name == ControlInterface.name) }

    @Test func methodsAreTheFiles() throws {
        let swift = try ControlRequest.methods.map { try method($0.request) }
        #expect(swift.map(\.name) == file.methods.map(\.name))
        for (mine, its) in zip(swift, file.methods) { #expect(mine == its) }
    }

    @Test func typesAreTheFiles() throws {
        let records: [any WireRecord.Type] = [
            Selection.self, Capture.self, Problem.self, Submitted.self, DependencyRow.self, CategoryUseRow.self,
            UsageRow.self, ProgressRow.self, OperationRow.self, AttemptRow.self, ReasonRow.self, QueueRow.self,
            CategoryRow.self, CountsRow.self, EventRow.self, EndedRow.self, NodeRow.self, EdgeRow.self,
        ]
        #expect(records.map { $0.typeName } == file.types.map(\.name))
        for (record, type) in zip(records, file.types) { #expect(try FieldSchema(of: record).members == type.members) }
    }

    @Test func errorsAreTheFiles() throws { try expect(ControlError.self, in: file) }

    @Test func theServiceInterfaceIsItsFiles() throws {
        let file = try InterfaceFile(ServiceInterface.description)
        let requests: [any WireRequest.Type] = [GetInfoRequest.self, GetInterfaceDescriptionRequest.self]
        #expect(try requests.map { try method($0) } == file.methods)
        try expect(ServiceError.self, in: file)
    }

    @Test func everyMethodIsRead() throws {
        for method in file.methods {
            let text = #"{"method":"\#(file.name).\#(method.name)","parameters":{"noSuchParameter":1},"more":true}"#
            let call = try Call(frame: Array(text.utf8))
            #expect(throws: ServiceError.self, "\(method.name)") { try ControlRequest(call) }
            do throws(ServiceError) { _ = try ControlRequest(call) } catch {
                #expect(error != .methodNotFound(call.method))
            }
        }
    }
}
