/// The header field in which a proxy reports the client.
public enum ForwardedHeader: String, CaseIterable, Sendable {
    case forwardedFor = "x-forwarded-for"
    /// The `Forwarded` field (RFC 7239).
    case forwarded
}
