/// The configuration of the server for RTMP publishers.
public struct RTMPConfiguration: Hashable, Sendable {
    /// The port for RTMP; 0 selects a free one, and nil opens none.
    public var port: Int?
    /// The port for RTMP over TLS (RTMPS), which uses the certificate of the configuration; 0 selects a free one, and nil
    /// opens none.
    public var tlsPort: Int?
    /// Whether a publisher replaces another one with the same key. Otherwise it is rejected, unless the other one has sent
    /// nothing for ``silence``.
    public var takesOver = false

    /// The program that transcodes AAC to Opus; nil to leave out the audio of publishers that send AAC.
    public var transcoder: AudioTranscodingConfiguration?

    /// The time without data after which a publisher gives its key to another one; ``silence`` by default.
    package var replacementTime = silence
    /// The time in which a client must publish after it has connected.
    package var setupTimeout = Duration.seconds(15)
    /// The time without data after which the connection of a publisher is closed.
    package var silenceTimeout = Duration.seconds(30)

    /// The time without data after which another publisher with the same key is accepted in any case.
    public static let silence = Duration.seconds(5)
    /// The registered port for RTMP (IANA “macromedia-fcs”).
    public static let defaultPort = 1_935

    /// Creates the default configuration, which opens no port.
    public init() {}
}

/// The ports on which a platform listens for RTMP publishers.
public struct RTMPListening: Hashable, Sendable {
    /// The port for RTMP; nil if there is none.
    public let port: Int?
    /// The port for RTMPS; nil if there is none.
    public let tlsPort: Int?
}
