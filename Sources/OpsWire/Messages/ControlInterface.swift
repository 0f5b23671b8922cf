/// `org.opsd.Control`, as its file describes it.
enum ControlInterface {
    static let name = "org.opsd.Control"
    static let description = String(decoding: PackageResources.org_opsd_Control_varlink, as: UTF8.self)
}
