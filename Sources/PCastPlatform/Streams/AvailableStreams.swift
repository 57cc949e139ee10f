import PCastCore
import PCastEdgeAuth
import Synchronization

/// The streams that viewers may request, for decisions that must not wait for the ``StreamDirectory``.
final class AvailableStreams: Sendable {
    private struct Stream: Sendable {
        let application: ApplicationID
        let tags: [String]
    }

    private struct State: Sendable {
        /// The streams by their identifiers, and those of declared streams also by their names.
        var streams: [StreamID: Stream] = [:]
        var declarations: StreamDeclarations?
        /// The channels by their identifiers and aliases. Those without a presenter may be awaited.
        var channels: [ApplicationID: [String: PresentedChannel]] = [:]

        mutating func set(_ channel: PresentedChannel) {
            for name in channel.names { channels[channel.application, default: [:]][name] = channel }
        }

        /// Returns the channel of a name, unless a stream is declared with it.
        func channel(_ name: String, of application: ApplicationID, isAwaited: Bool = false) -> PresentedChannel? {
            guard let channel = channels[application]?[name], isAwaited || !channel.isEmpty,
                declarations?.declaration(of: name) == nil
            else { return nil }
            return channel
        }
    }

    private let state = Mutex(State())

    /// Adds a stream, or changes it.
    func insert(_ stream: LiveStream) {
        let entry = Stream(application: stream.application, tags: stream.authorizingTags)
        state.withLock { state in
            for id in stream.requestedIDs { state.streams[id] = entry }
        }
    }

    /// Removes a stream. It has no effect if the stream is absent.
    func remove(_ stream: LiveStream) {
        state.withLock { state in
            for id in stream.requestedIDs { state.streams[id] = nil }
        }
    }

    /// Sets the declared streams, whose sources may begin when they are requested.
    func setDeclarations(_ declarations: StreamDeclarations) { state.withLock { $0.declarations = declarations } }

    /// Sets the presenters of a channel. Its own stream remains.
    func setChannel(_ channel: PresentedChannel) {
        state.withLock { state in
            var channel = channel
            channel.stream = state.channels[channel.application]?[channel.id]?.stream
            state.set(channel)
        }
    }

    /// Sets the stream that viewers of a channel's name receive; nil for none. It has no effect if the channel has ended.
    func setStream(_ stream: StreamID?, ofChannel id: String, application: ApplicationID) {
        state.withLock { state in
            guard var channel = state.channels[application]?[id] else { return }
            channel.stream = stream
            state.set(channel)
        }
    }

    /// Removes a channel that has ended, with its stream.
    func removeChannel(_ id: String, of application: ApplicationID) {
        state.withLock { state in
            guard let channel = state.channels[application]?[id] else { return }
            // A channel that was created with the alias meanwhile remains.
            for name in channel.names where state.channels[application]?[name]?.id == id {
                state.channels[application]?[name] = nil
            }
            if state.channels[application]?.isEmpty == true { state.channels[application] = nil }
        }
    }

    /// Returns the channel with an identifier or alias; nil if there is none, or if a stream is declared with this name. A
    /// channel with neither a presenter nor a stream is returned only if it is awaited.
    func channel(
        _ name: String, of application: ApplicationID, isAwaited: Bool = false
    ) -> PresentedChannel? {
        state.withLock { $0.channel(name, of: application, isAwaited: isAwaited) }
    }

    /// Returns the channel with an identifier, also if viewers do not receive it by its name; nil if there is none.
    func presentedChannel(_ id: String, of application: ApplicationID) -> PresentedChannel? {
        state.withLock { $0.channels[application]?[id] }
    }

    /// Checks that a client may view the requested stream, or else that of its token, or else any stream.
    ///
    /// - Throws: ``APIError`` with the kind `unauthorized` or `noStreamPlaying`.
    func authorize(
        _ principal: Principal, viewing origin: StreamID?, clientContext: ClientContext,
        by authenticator: TokenAuthenticator
    ) throws(APIError) {
        let named = principal.origin(requested: origin)
        let required = principal.token?.requiredTag.map { [$0] } ?? []
        let (tags, exists): ([String], Bool) = state.withLock { state in
            guard let named else {
                let exists = state.streams.values.contains { stream in
                    stream.application == principal.application && required.allSatisfy { stream.tags.contains($0) }
                }
                return (required, exists)
            }
            if let stream = state.streams[named], stream.application == principal.application {
                return (stream.tags, true)
            }
            if let channel = state.channel(named.description, of: principal.application) {
                return (channel.tags + channel.streams.flatMap { state.streams[$0]?.tags ?? [] }, true)
            }
            guard let declaration = state.declarations?.declaration(of: named.description),
                declaration.application ?? authenticator.owner == principal.application
            else { return (required, false) }
            return (StreamTags(ofName: named.description).authorizing, true)
        }
        try authenticator.authorize(
            principal, for: .subscribe(originStreamID: named?.description ?? "", tags: tags),
            clientContext: clientContext)
        guard exists else { throw .noStream }
    }
}

extension LiveStream {
    /// The identifiers with which viewers request the stream.
    fileprivate var requestedIDs: [StreamID] {
        if case .named(let name) = place { [id, StreamID(name)] } else { [id] }
    }
}

/// The presenters of a channel, whose identifier and alias viewers may request in place of a stream.
struct PresentedChannel: Hashable, Sendable {
    let application: ApplicationID
    /// The identifier and the alias.
    let names: [String]
    /// The tags of the channel. A token that requires one of them permits viewing its presenters.
    let tags: [String]
    /// The streams of the presenters, the preferred one first.
    var streams: [StreamID]
    /// Whether viewers keep their presenter while its stream is available.
    var keepsPresenter = false
    /// The stream that continues when another presenter takes over; nil while nobody views the channel by its name.
    var stream: StreamID?

    /// The identifier.
    var id: String { names.first ?? "" }

    var isEmpty: Bool { streams.isEmpty && stream == nil }
}
