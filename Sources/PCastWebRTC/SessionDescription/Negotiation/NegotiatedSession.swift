/// What an offer and its answer agreed on, as one of the two sides sees it.
public struct NegotiatedSession: Sendable {
    /// Where the peer is and how it is known.
    public var remoteTransport: RemoteTransport
    /// `active` for the DTLS client, `passive` for the server; never another role.
    public var localSetup: SetupRole
    /// The accepted sections, in their order.
    public var media: [NegotiatedMedia]
    /// The sections of a peer's answer to our offer that it accepts and in which nothing can flow.
    public var problems: [SectionProblem] = []

    init(remoteTransport: RemoteTransport, localSetup: SetupRole, media: [NegotiatedMedia]) {
        self.remoteTransport = remoteTransport
        self.localSetup = localSetup
        self.media = media
    }

    /// Whether our side sends the ClientHello. It shall wait for the first valid ICE check.
    public var isDTLSClient: Bool { localSetup == .active }

    /// The accepted section of that mid.
    public func media(withMid mid: String) -> NegotiatedMedia? { media.first { $0.mid == mid } }
}
