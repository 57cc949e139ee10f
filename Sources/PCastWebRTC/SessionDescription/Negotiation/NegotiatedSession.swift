/// The result of negotiating an offer and its answer, from the local view.
public struct NegotiatedSession: Sendable {
    /// The ICE and DTLS parameters of the peer.
    public var remoteTransport: RemoteTransport
    /// The local DTLS role, `active` or `passive`.
    public var localSetup: SetupRole
    /// The accepted sections in their order.
    public var media: [NegotiatedMedia]
    /// The sections of an answer that the peer accepts but that cannot carry media.
    public var problems: [SectionProblem] = []

    init(remoteTransport: RemoteTransport, localSetup: SetupRole, media: [NegotiatedMedia]) {
        self.remoteTransport = remoteTransport
        self.localSetup = localSetup
        self.media = media
    }

    /// Whether this side is the DTLS client. It must wait for the first valid ICE check.
    public var isDTLSClient: Bool { localSetup == .active }

    /// Returns the accepted section with a MID; nil if there is none.
    public func media(withMid mid: String) -> NegotiatedMedia? { media.first { $0.mid == mid } }
}
