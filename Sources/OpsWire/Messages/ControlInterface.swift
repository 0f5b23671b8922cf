/// `org.opsd.Control`, as its file describes it.
public enum ControlInterface {
    public static let name = "org.opsd.Control"
    public static let description = String(decoding: PackageResources.org_opsd_Control_varlink, as: UTF8.self)
}
