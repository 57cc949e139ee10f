/// The field of a request in which a proxy tells whom it asks for.
public enum ProxyField: String, CaseIterable, Sendable {
    case forwardedFor = "x-forwarded-for"
    /// RFC 7239.
    case forwarded
}
