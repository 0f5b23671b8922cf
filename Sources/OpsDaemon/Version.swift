internal import OpsLinux

/// What this build calls itself.
public enum Version {
    public static let text = Release.current.text
}
