/// The interface `org.varlink.service`, with which every Varlink service describes itself.
public enum ServiceInterface {
    public static let name = "org.varlink.service"

    /// Text from https://varlink.org/Service.
    static let description = """
        # The Varlink Service Interface is provided by every varlink service. It
        # describes the service and the interfaces it implements.
        interface org.varlink.service

        # Get a list of all the interfaces a service provides and information
        # about the implementation.
        method GetInfo() -> (
          vendor: string,
          product: string,
          version: string,
          url: string,
          interfaces: []string
        )

        # Get the description of an interface that is implemented by this service.
        method GetInterfaceDescription(interface: string) -> (description: string)

        # The requested interface was not found.
        error InterfaceNotFound (interface: string)

        # The requested method was not found
        error MethodNotFound (method: string)

        # The interface defines the requested method, but the service does not
        # implement it.
        error MethodNotImplemented (method: string)

        # One of the passed parameters is invalid.
        error InvalidParameter (parameter: string)

        # Client is denied access
        error PermissionDenied ()

        # Method is expected to be called with 'more' set to true, but wasn't
        error ExpectedMore ()

        """
}

public struct GetInfoRequest: WireRequest {
    public typealias Reply = GetInfoReply
    public static let interface = ServiceInterface.name
    public static let method = "GetInfo"
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {}
}

public struct GetInfoReply: WireRecord {
    var vendor = "opsd"
    var product = "opsd"
    public var version = ""
    public var url = ""
    var interfaces = [ServiceInterface.name, ControlInterface.name]
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("vendor", &vendor)
        try visitor.field("product", &product)
        try visitor.field("version", &version)
        try visitor.field("url", &url)
        try visitor.field("interfaces", &interfaces)
    }
}

public struct GetInterfaceDescriptionRequest: WireRequest {
    public typealias Reply = GetInterfaceDescriptionReply
    public static let interface = ServiceInterface.name
    public static let method = "GetInterfaceDescription"
    /// Name of the parameter.
    var name = ""
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("interface", &name)
    }

    /// Returns the file of the interface, if this service has it.
    public func answer() throws(ServiceError) -> GetInterfaceDescriptionReply {
        switch name {
        case ServiceInterface.name: .with { $0.description = ServiceInterface.description }
        case ControlInterface.name: .with { $0.description = ControlInterface.description }
        default: throw .interfaceNotFound(name)
        }
    }
}

public struct GetInterfaceDescriptionReply: WireRecord {
    var description = ""
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("description", &description)
    }
}

/// Errors that every service may return.
public enum ServiceError: WireErrorCases {
    case interfaceNotFound(String)
    case methodNotFound(String)
    case methodNotImplemented(String)
    case invalidParameter(String)
    case permissionDenied
    case expectedMore

    public static let interface = ServiceInterface.name
    public static let examples: [ServiceError] = [
        .interfaceNotFound(""), .methodNotFound(""), .methodNotImplemented(""), .invalidParameter(""),
        .permissionDenied,
        .expectedMore,
    ]

    public var name: String {
        switch self {
        case .interfaceNotFound: "InterfaceNotFound"
        case .methodNotFound: "MethodNotFound"
        case .methodNotImplemented: "MethodNotImplemented"
        case .invalidParameter: "InvalidParameter"
        case .permissionDenied: "PermissionDenied"
        case .expectedMore: "ExpectedMore"
        }
    }

    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        switch self {
        case .interfaceNotFound(var interface):
            try visitor.field("interface", &interface)
            self = .interfaceNotFound(interface)
        case .methodNotFound(var method):
            try visitor.field("method", &method)
            self = .methodNotFound(method)
        case .methodNotImplemented(var method):
            try visitor.field("method", &method)
            self = .methodNotImplemented(method)
        case .invalidParameter(var parameter):
            try visitor.field("parameter", &parameter)
            self = .invalidParameter(parameter)
        case .permissionDenied, .expectedMore: break
        }
    }
}
