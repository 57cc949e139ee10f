public import PCastCore

/// Streams that are had again when they end (Phenix: PCastExpress).
extension PCast {
    /// Makes a token for each attempt, as one that was made earlier may have expired.
    public typealias TokenSource = @Sendable () async throws(PCastError) -> String

    /// Publishes a stream, and publishes it again when it ends, as `policy` says.
    ///
    /// - Returns: when the platform has agreed for the first time.
    /// - Throws: as ``publish(streamToken:mediaStream:tags:options:)`` does, for the first time.
    public func publish(
        recovering policy: RecoveryPolicy, mediaStream: MediaStream, tags: [String] = [],
        options: PublishOptions = PublishOptions(), streamToken: @escaping TokenSource
    ) async throws(PCastError) -> RecoveringStream<Publisher> {
        try await recover(policy) { [weak self] () throws(PCastError) in
            guard let self else { throw .shutDown }
            let token = try await streamToken()
            return try await publish(streamToken: token, mediaStream: mediaStream, tags: tags, options: options)
        }
    }

    /// Subscribes to a stream, and again when it ends, as `policy` says.
    ///
    /// - Returns: when the platform has agreed for the first time.
    /// - Throws: as ``subscribe(streamToken:streamID:)`` does, for the first time.
    public func subscribe(
        recovering policy: RecoveryPolicy, streamID: StreamID? = nil, streamToken: @escaping TokenSource
    ) async throws(PCastError) -> RecoveringStream<MediaStream> {
        try await recover(policy) { [weak self] () throws(PCastError) in
            guard let self else { throw .shutDown }
            return try await subscribe(streamToken: try await streamToken(), streamID: streamID)
        }
    }

    private func recover<Stream>(
        _ policy: RecoveryPolicy, _ again: @escaping @Sendable () async throws(PCastError) -> Stream
    ) async throws(PCastError) -> RecoveringStream<Stream> {
        let first = try await again()
        return RecoveringStream(
            first, policy: policy, isOnline: { [weak self] limit in await self?.waitToBeOnline(limit) }, again: again)
    }

    /// Returns when the session is online again, or after that time.
    private func waitToBeOnline(_ limit: TimeSpan) async {
        let events = events
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for await event in events where event == .online { return }
            }
            group.addTask { try? await Task.sleep(for: limit.duration) }
            await group.next()
            group.cancelAll()
        }
    }
}
