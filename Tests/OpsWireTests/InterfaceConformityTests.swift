import Testing

@testable import OpsWire

/// Holds the interface file and the Swift types together, member by member.
@Suite struct InterfaceConformityTests {
    private let file: InterfaceFile

    init() throws { file = try InterfaceFile(ControlInterface.description) }

    private func members(_ schema: FieldSchema) -> [InterfaceFile.Member] {
        schema.fields.map { InterfaceFile.Member(name: $0.name, type: $0.type) }
    }

    private func schema(_ record: any WireRecord.Type) -> FieldSchema {
        func open<Record: WireRecord>(_ record: Record.Type) -> FieldSchema { FieldSchema(of: record) }
        return open(record)
    }

    private func reply(_ request: any WireRequest.Type) -> FieldSchema {
        func open<Request: WireRequest>(_ request: Request.Type) -> FieldSchema { FieldSchema(of: Request.Reply.self) }
        return open(request)
    }

    @Test func nameIsTheFiles() { #expect(file.name == ControlInterface.name) }

    @Test func methodsAreTheFiles() {
        let swift = ControlRequest.methods.map {
            InterfaceFile.Method(name: $0.method, parameters: members(schema($0)), reply: members(reply($0)))
        }
        #expect(swift.map(\.name) == file.methods.map(\.name))
        for (mine, its) in zip(swift, file.methods) { #expect(mine == its) }
    }

    @Test func typesAreTheFiles() {
        let records: [any WireRecord.Type] = [
            Selection.self, Capture.self, Problem.self, Submitted.self, DependencyRow.self, CategoryUseRow.self,
            UsageRow.self, ProgressRow.self, OperationRow.self, AttemptRow.self, ReasonRow.self, QueueRow.self,
            CategoryRow.self, CountsRow.self, EventRow.self, EndedRow.self, NodeRow.self, EdgeRow.self,
        ]
        #expect(records.map { $0.typeName } == file.types.map(\.name))
        for (record, type) in zip(records, file.types) { #expect(members(schema(record)) == type.members) }
    }

    @Test func errorsAreTheFiles() {
        #expect(ControlError.schemas.map(\.name) == file.errors.map(\.name))
        for (mine, its) in zip(ControlError.schemas, file.errors) { #expect(members(mine.schema) == its.members) }
    }

    @Test func theServiceInterfaceIsItsFiles() throws {
        let file = try InterfaceFile(ServiceInterface.description)
        let requests: [any WireRequest.Type] = [GetInfoRequest.self, GetInterfaceDescriptionRequest.self]
        let swift = requests.map {
            InterfaceFile.Method(name: $0.method, parameters: members(schema($0)), reply: members(reply($0)))
        }
        #expect(swift == file.methods)
        #expect(ServiceError.schemas.map(\.name) == file.errors.map(\.name))
        for (mine, its) in zip(ServiceError.schemas, file.errors) { #expect(members(mine.schema) == its.members) }
    }

    @Test func everyMethodIsRead() {
        for method in file.methods {
            var call = Call(method: "\(file.name).\(method.name)")
            call.parameters = Array(#"{"noSuchParameter": 1}"#.utf8)
            call.more = true
            #expect(throws: ServiceError.self, "\(method.name)") { try ControlRequest(call) }
            do throws(ServiceError) { _ = try ControlRequest(call) } catch {
                #expect(error != .methodNotFound(call.method))
            }
        }
    }
}
