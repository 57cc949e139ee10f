public import PCastCore
import PCastRTP
import PCastSignaling

/// Streams from and to addresses, which the platform works on itself.
extension PCast {
    /// Has the platform pull a stream from an address, or listen for an encoder, and publish it.
    ///
    /// - Parameters:
    ///   - streamToken: made with EdgeAuth, for publishing, with the capability `publish-uri`.
    ///   - uri: `http(s)`, `rtsp`, `rtmp(s)` or `srt`, where the platform may reach it; `srt://0.0.0.0:PORT?mode=listener`
    ///     listens for an encoder on a port that the platform allows.
    ///   - tags: are handed on with the platform's notifications, and matched by tokens that require one.
    /// - Returns: when media flows, or is listened for.
    /// - Throws: `unauthorized` without the capability, `badRequest` for an address that is not allowed, `failed` when
    ///   nothing comes of it, `capacity` when the platform pulls too many already.
    public func publishFromUri(
        streamToken: String, uri: String, tags: [String] = [], connectOptions: ConnectOptions = ConnectOptions()
    ) async throws(PCastError) -> Publisher {
        var setup = RemoteSetup(streamToken: streamToken, uri: uri, tags: tags)
        setup.connectOptions = connectOptions
        return try await connect(setup)
    }

    /// Has the platform push a stream to an address: `rtmp(s)`, `srt` or `rtsp`.
    ///
    /// - Parameter streamToken: made with EdgeAuth, for streaming, with the capability `egress`.
    /// - Returns: what stands for the push, and ends with it or with the stream: with `egress-failed` in its description
    ///   when the other side broke off.
    /// - Throws: as ``publishFromUri(streamToken:uri:tags:connectOptions:)`` does.
    public func egress(
        streamToken: String, streamID: StreamID, uri: String, connectOptions: ConnectOptions = ConnectOptions()
    ) async throws(PCastError) -> Publisher {
        var setup = RemoteSetup(streamToken: streamToken, uri: uri, tags: [])
        setup.originStreamID = streamID
        setup.connectOptions = connectOptions
        return try await connect(setup)
    }

    /// The callback form.
    public func publishFromUri(
        streamToken: String, uri: String, tags: [String] = [], connectOptions: ConnectOptions = ConnectOptions(),
        _ publishCallback: @escaping @Sendable (PCast, RequestStatus, Publisher?) -> Void
    ) {
        Task {
            do throws(PCastError) {
                let publisher = try await publishFromUri(
                    streamToken: streamToken, uri: uri, tags: tags, connectOptions: connectOptions)
                publishCallback(self, .ok, publisher)
            } catch {
                publishCallback(self, error.status, nil)
            }
        }
    }

    private func connect(_ setup: RemoteSetup) async throws(PCastError) -> Publisher {
        let life = StreamLifecycle(.publisher)
        return Publisher(streamID: try await setup.run(life, session), life: life)
    }
}
