public import PCastCore

// MARK: Recovery (Phenix: PCastExpress)
extension PCast {
    /// A function that makes a token for each attempt, because an earlier token may have expired. It throws an error if
    /// it cannot make one.
    public typealias TokenSource = @Sendable () async throws(PCastError) -> String

    /// Publishes a stream, and publishes it again after its end as `policy` specifies. It returns when the platform has
    /// accepted the first attempt.
    ///
    /// - Parameters:
    ///   - policy: The actions after an end or a refusal.
    ///   - mediaStream: The media.
    ///   - tags: The tags of the stream.
    ///   - options: The encoding of the stream.
    ///   - streamToken: The source of tokens.
    /// - Returns: The stream that is published again.
    /// - Throws: The error of the first attempt; see ``publish(streamToken:mediaStream:tags:options:)``.
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

    /// Subscribes to a stream, and subscribes again after its end as `policy` specifies. It returns when the platform has
    /// accepted the first attempt.
    ///
    /// - Parameters:
    ///   - policy: The actions after an end or a refusal.
    ///   - streamID: The stream; nil if the token specifies it.
    ///   - streamToken: The source of tokens.
    /// - Returns: The stream that is subscribed to again.
    /// - Throws: The error of the first attempt; see ``subscribe(streamToken:streamID:)``.
    public func subscribe(
        recovering policy: RecoveryPolicy, streamID: StreamID? = nil, streamToken: @escaping TokenSource
    ) async throws(PCastError) -> RecoveringStream<MediaStream> {
        try await recover(policy) { [weak self] () throws(PCastError) in
            guard let self else { throw .shutDown }
            return try await subscribe(streamToken: try await streamToken(), streamID: streamID)
        }
    }

    /// Publishes a stream to a WHIP endpoint of any server, and publishes it again after its end as `policy` specifies.
    ///
    /// - Parameters:
    ///   - policy: The actions after an end or a refusal.
    ///   - uri: The endpoint; see ``publish(toWHIP:token:mediaStream:options:)``.
    ///   - token: The bearer token; nil for that of the URI, or none.
    ///   - mediaStream: The media.
    ///   - options: The encoding of the stream.
    /// - Returns: The stream that is published again.
    /// - Throws: The error of the first attempt.
    public func publish(
        recovering policy: RecoveryPolicy, toWHIP uri: String, token: String? = nil, mediaStream: MediaStream,
        options: PublishOptions = PublishOptions()
    ) async throws(PCastError) -> RecoveringStream<Publisher> {
        try await recover(policy) { [weak self] () throws(PCastError) in
            guard let self else { throw .shutDown }
            return try await publish(toWHIP: uri, token: token, mediaStream: mediaStream, options: options)
        }
    }

    /// Subscribes to a stream at a WHEP endpoint of any server, and subscribes again after its end as `policy` specifies.
    ///
    /// - Parameters:
    ///   - policy: The actions after an end or a refusal.
    ///   - uri: The endpoint; see ``subscribe(fromWHEP:token:)``.
    ///   - token: The bearer token; nil for that of the URI, or none.
    /// - Returns: The stream that is subscribed to again.
    /// - Throws: The error of the first attempt.
    public func subscribe(
        recovering policy: RecoveryPolicy, fromWHEP uri: String, token: String? = nil
    ) async throws(PCastError) -> RecoveringStream<MediaStream> {
        try await recover(policy) { [weak self] () throws(PCastError) in
            guard let self else { throw .shutDown }
            return try await subscribe(fromWHEP: uri, token: token)
        }
    }

    /// Makes the first attempt, and returns the stream that repeats it. Throws an error if the first attempt fails.
    private func recover<Stream>(
        _ policy: RecoveryPolicy, _ retry: @escaping @Sendable () async throws(PCastError) -> Stream
    ) async throws(PCastError) -> RecoveringStream<Stream> {
        let first = try await retry()
        return RecoveringStream(
            first, policy: policy, isOnline: { [weak self] limit in await self?.waitToBeOnline(limit) }, retry: retry)
    }

    /// Returns when the session is online again, or after the time limit.
    private func waitToBeOnline(_ limit: Duration) async {
        let events = events
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for await event in events where event == .online { return }
            }
            group.addTask { try? await Task.sleep(for: limit) }
            await group.next()
            group.cancelAll()
        }
    }
}
