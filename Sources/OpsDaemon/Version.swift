/// What this build calls itself.
public enum Version {
    public static let text = "0.1.0"
}
