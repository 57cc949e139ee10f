import PCastCluster
import PCastCore
import PCastEdgeAuth
import PCastIO

/// The stream whose playlists a viewer receives.
enum PlaylistSource: Sendable {
    /// This node packages it.
    case own(PackagedStream)
    /// Another node packages it.
    case other(EdgeVideo.Stream)

    /// The path of the multivariant playlist that requires no token.
    func signedPath(at time: WallTime) -> String {
        switch self {
        case .own(let packaged): VideoRoutes.signedPath(packaged, at: time)
        case .other(let stream): stream.signedPath
        }
    }
}

/// Playlists of this node and of other nodes.
extension StreamDirectory {
    /// Returns the stream whose playlists a client may load; see ``packagedStream(_:for:clientContext:countsAsViewer:)``.
    ///
    /// - Throws: ``APIError``.
    func playlistSource(
        _ origin: StreamID?, for principal: Principal, clientContext: ClientContext, countsAsViewer: Bool = true
    ) async throws(APIError) -> PlaylistSource {
        if let requested = principal.origin(requested: origin),
            let stream = try await streamOfOtherNode(requested, for: principal, clientContext)
        {
            let tags = stream.authorizingTags
            try policy.authorize(principal, clientContext, origin: requested.description, tags: tags)
            if countsAsViewer { try policy.takeJoin(principal, clientContext) }
            try await policy.authenticator.checkHook(.subscribe(stream.id), principal, clientContext)
            if countsAsViewer { _ = try policy.reserve(.viewer, principal, clientContext) }
            return .other(stream)
        }
        return .own(
            try await packagedStream(
                origin, for: principal, clientContext: clientContext, countsAsViewer: countsAsViewer))
    }

    /// Searches other nodes for the playlists of a stream that this node does not publish. Returns nil if no other node has
    /// them, so that the caller reports the error.
    private func streamOfOtherNode(
        _ requested: StreamID, for principal: Principal, _ clientContext: ClientContext
    ) async throws(APIError) -> EdgeVideo.Stream? {
        guard let video = edges?.video, !isPublishedHere(requested),
            channel(requested: requested, for: principal) == nil
        else { return nil }
        // The source of a declared name begins here, unless another node publishes the name.
        if let names, otherNodes.value?.origin(of: requested) == nil,
            await names.isDeclared(requested.description, of: principal.application)
        {
            return nil
        }
        // A client without a valid token does not cause a search.
        let tags = principal.token?.requiredTag.map { [$0] } ?? []
        try policy.authorize(principal, clientContext, origin: requested.description, tags: tags)
        do throws(APIError) {
            return try await video.find(requested, of: principal.application)
        } catch {
            guard error.kind == .noStreamPlaying else { throw error }
            return nil
        }
    }

    /// Whether the publisher of a stream is here, or is expected here.
    private func isPublishedHere(_ requested: StreamID) -> Bool {
        let id = registry.resolveOwn(requested)
        guard let stream = registry.streams[id] else { return pendingReconnects.streams[id] != nil }
        return !stream.isPulled
    }

    /// Returns a packaged stream of this node that another node requests, with the tags that a viewer's token may require;
    /// nil if this node does not publish it.
    ///
    /// - Parameters:
    ///   - requested: The identifier or name of the stream.
    ///   - application: The application of the viewer; nil for a viewer with a signed path, who also receives a stream that
    ///     has ended recently.
    /// - Returns: The stream; nil for none.
    /// - Throws: ``APIError``.
    func packagedForNode(
        _ requested: StreamID, of application: ApplicationID?
    ) async throws(APIError) -> (packaged: PackagedStream, tags: [String])? {
        guard let packaging else { return nil }
        if let application, let names, registry.ownStreams[requested] == nil, registry.streams[requested] == nil,
            otherNodes.value?.origin(of: requested) == nil,
            await names.isDeclared(requested.description, of: application)
        {
            try await names.wait(for: requested.description)
        }
        let id = registry.resolveOwn(requested)
        if let stream = registry.streams[id], !stream.isPulled {
            guard application == nil || stream.application == application else { throw .noStream }
            guard packaging.packages(stream) else { throw .noPlaylist }
            guard let packaged = packaging.stream(id) else { throw .playlistNotReady }
            return (packaged, stream.authorizingTags)
        }
        guard application == nil, let packaged = packaging.stream(requested) else { return nil }
        return (packaged, [])
    }
}
