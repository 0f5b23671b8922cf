/// The interface `org.opsd.Control`, with the text of its file.
enum ControlInterface {
    static let name = "org.opsd.Control"
    static let description = String(decoding: PackageResources.org_opsd_Control_varlink, as: UTF8.self)
}
