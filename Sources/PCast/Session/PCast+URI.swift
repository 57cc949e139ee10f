public import PCastCore
import PCastRTP
import PCastSignaling

// MARK: Media that the platform pulls and pushes
extension PCast {
    /// Publishes a stream that the platform pulls from an address, or for which it listens. It returns when media
    /// flows, or when the platform listens.
    ///
    /// - Parameters:
    ///   - streamToken: The token, which is made with EdgeAuth for publishing, with the capability `publish-uri`.
    ///   - uri: An address that the platform may reach, with the scheme `http(s)`, `rtsp`, `rtmp(s)` or `srt`.
    ///     `srt://0.0.0.0:PORT?mode=listener` listens for an encoder on a port that the platform permits.
    ///   - tags: The tags, which the platform's notifications contain, and which tokens may require.
    ///   - connectOptions: The options of the connection.
    /// - Returns: The publisher.
    /// - Throws: ``PCastError`` with the status `unauthorized` without the capability, and `badRequest` for an address
    ///   that is not permitted. The status is `failed` if there is no media, and `capacity` if the platform has reached
    ///   its limit of jobs.
    public func publishFromUri(
        streamToken: String, uri: String, tags: [String] = [], connectOptions: ConnectOptions = ConnectOptions()
    ) async throws(PCastError) -> Publisher {
        var setup = RemoteSetup(streamToken: streamToken, uri: uri, tags: tags)
        setup.connectOptions = connectOptions
        return try await connect(setup)
    }

    /// Pushes a stream from the platform to an address.
    ///
    /// - Parameters:
    ///   - streamToken: The token, which is made with EdgeAuth for streaming, with the capability `egress`.
    ///   - streamID: The stream to push.
    ///   - uri: The address, with the scheme `rtmp(s)`, `srt` or `rtsp`.
    ///   - connectOptions: The options of the connection.
    /// - Returns: The publisher of the push, which ends with the push or the stream. The description of its end is
    ///   `egress-failed` if the receiver has closed the connection.
    /// - Throws: ``PCastError``; see ``publishFromUri(streamToken:uri:tags:connectOptions:)``.
    public func egress(
        streamToken: String, streamID: StreamID, uri: String, connectOptions: ConnectOptions = ConnectOptions()
    ) async throws(PCastError) -> Publisher {
        var setup = RemoteSetup(streamToken: streamToken, uri: uri, tags: [])
        setup.originStreamID = streamID
        setup.connectOptions = connectOptions
        return try await connect(setup)
    }

    /// Sends the setup and returns its publisher. Throws an error if the platform refuses.
    private func connect(_ setup: RemoteSetup) async throws(PCastError) -> Publisher {
        let lifecycle = StreamLifecycle(.publisher)
        return Publisher(streamID: try await setup.run(lifecycle, session), lifecycle: lifecycle, session: session)
    }
}
