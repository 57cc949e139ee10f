import Logging
import PCastCluster
import PCastCore
import PCastIO
import PCastSFU

/// Channels whose viewers request them by their names: the streams of their presenters, and the streams that continue when
/// another presenter takes over.
extension StreamDirectory {
    /// The maximum time for which a request waits until the stream of a channel is packaged.
    private static let packagingTimeout = Duration.seconds(4)

    /// Returns the channel that a request, or else its token, names; nil if it names a stream, also one that is declared or
    /// published at another node: a client that creates a channel must not get the viewers of a stream. A channel without a
    /// presenter is returned only if it is awaited, or has viewers.
    func channel(
        requested origin: StreamID?, for principal: Principal, isAwaited: Bool = false
    ) -> PresentedChannel? {
        guard let requested = principal.origin(requested: origin), registry.streams[requested] == nil,
            registry.namedStreams[requested] == nil, otherNodes.value?.origin(of: requested) == nil
        else { return nil }
        return available.channel(requested.description, of: principal.application, isAwaited: isAwaited)
    }

    /// Lets the stream of a requested channel begin, if its presenters are available or awaited, and the client may view
    /// whoever presents. Returns the channel with its stream; nil if it has ended meanwhile.
    func openChannel(
        _ channel: PresentedChannel, requested origin: StreamID?, for principal: Principal,
        _ clientContext: ClientContext, isAwaited: Bool = false
    ) async -> PresentedChannel? {
        guard channel.stream == nil, let channels, let named = principal.origin(requested: origin),
            policy.permits(channel, named, principal, clientContext),
            !presenters(of: channel).isEmpty || isAwaited
        else { return channel }
        await channels.open(channel, isAwaited: isAwaited)
        return self.channel(requested: origin, for: principal, isAwaited: isAwaited)
    }

    /// Checks that a viewer who waits for presenters can receive whoever presents in a channel.
    ///
    /// - Throws: ``APIError`` with the kind `unauthorized` if the token is not valid for the channel, or `unsupported`. The
    ///   viewer can then request the streams of presenters.
    func check(
        _ awaited: PresenterAwait, _ channel: PresentedChannel?, requested origin: StreamID?, for principal: Principal,
        _ clientContext: ClientContext
    ) throws(APIError) {
        let name = principal.origin(requested: origin)?.description ?? ""
        try policy.authorize(
            principal, clientContext, origin: name,
            tags: channel?.tags ?? (principal.token?.requiredTag.map { [$0] } ?? []))
        // The presenters of other nodes are not selected here.
        guard let channel, otherNodes.value == nil else { throw .cannotAwaitPresenters }
        guard awaited.accepts(channel) else {
            throw APIError(
                .unsupported, "The channel “\(name)” selects its presenter in another way: request their streams.")
        }
    }

    /// Pulls the stream of a channel's preferred presenter if all presenters are connected to other nodes. Its viewer receives
    /// that stream alone, until it ends.
    ///
    /// - Throws: ``APIError``.
    func pullPresenter(
        of channel: PresentedChannel, requested origin: StreamID?, for principal: Principal,
        _ clientContext: ClientContext
    ) async throws(APIError) {
        guard channel.stream == nil, let edges, let cluster = otherNodes.value,
            let named = principal.origin(requested: origin),
            policy.permits(channel, named, principal, clientContext),
            !channel.streams.contains(where: { id in registry.streams[id].map { registry.isAvailable($0) } ?? false }),
            let stream = channel.streams.first(where: { cluster.origin(of: $0) != nil })
        else { return }
        try await edges.pull(stream, of: channel.application)
    }

    /// Returns the presenters of channels whose streams are available, the preferred ones first.
    func presenters(of channels: [String: PresentedChannel]) -> [String: [ChannelStreamMachine.Presenter]] {
        channels.mapValues { presenters(of: $0) }
    }

    private func presenters(of channel: PresentedChannel) -> [ChannelStreamMachine.Presenter] {
        channel.streams.compactMap { id in
            guard let stream = registry.streams[id], stream.application == channel.application,
                registry.isAvailable(stream), !stream.isPulled, registry.participants[stream.peer]?.isAway == false
            else { return nil }
            return ChannelStreamMachine.Presenter(stream: id, publisher: stream.peer)
        }
    }

    /// Creates the stream that viewers of a channel's name receive. It is packaged if a presenter's stream is, and has
    /// renditions if a presenter's stream has.
    ///
    /// - Parameters:
    ///   - channel: The channel.
    ///   - media: The tracks.
    ///   - presenter: The stream of a presenter; nil if there is none yet.
    /// - Returns: The stream.
    /// - Throws: ``APIError``.
    func openStream(
        of channel: PresentedChannel, like media: IngestMedia, beside presenter: StreamID?
    ) async throws(APIError) -> StreamID {
        let presented = channel.streams.compactMap { registry.streams[$0] }
        let packaged = presented.filter { packaging?.packages($0) == true }
        var capabilities = StreamCapabilities.packaging(packaged.map(\.capabilities))
        if let renditions, presented.contains(where: { renditions.applies(to: $0.capabilities) }) {
            capabilities.append(RenditionService.capability)
        }
        let presenterTags = presenter.flatMap { registry.streams[$0]?.tags } ?? []
        let tags = StreamTags(ofChannel: channel.tags, presenter: presenterTags)
        let stream = try await open(
            .channel(channel.id), tags, of: channel.application, capabilities: capabilities, like: media,
            beside: presenter)
        await begin(stream, of: channel.application)
        logger.info("stream of a channel opened", metadata: ["stream": "\(stream)", "channel": "\(channel.id)"])
        return stream
    }

    /// Sets the presenter's stream whose media the stream of a channel has, so that its captions are shown there, too.
    func setSource(_ source: StreamID?, after former: StreamID?, of stream: StreamID) {
        if let former { registry.update(former) { $0.channelStreams.remove(stream) } }
        if let source { registry.update(source) { $0.channelStreams.insert(stream) } }
    }

    /// Returns the packaged stream of a stream; nil if it is not packaged yet. That of a channel, which may have begun with
    /// this request, is awaited for a short time.
    func packaged(_ stream: LiveStream, by packaging: PackagingService) async -> PackagedStream? {
        if let packaged = packaging.stream(stream.id) { return packaged }
        guard stream.place.isChannel, registry.streams[stream.id] != nil else { return nil }
        return await packaging.awaitStream(stream.id, within: Self.packagingTimeout)
    }
}

extension APIError {
    /// A viewer wants to wait for the presenters of a channel that has no stream of its own.
    static var cannotAwaitPresenters: APIError {
        APIError(.unsupported, "The presenters cannot be awaited with this name: request their streams.")
    }
}
