import PCastCore
import PCastHLS
import PCastIO
import PCastWeb

/// Follows a media playlist by HTTP as a low-latency player does, and checks each version against the rules for servers.
struct PlaylistObserver: Sendable {
    /// The last version of a playlist, and its violations until then.
    struct Observation: Sendable {
        var playlist: MediaPlaylist
        /// The number of versions.
        var versions = 1
        var violations: Set<RuleViolation> = []
    }

    /// The URI of the playlist.
    let uri: String

    /// Loads a playlist.
    ///
    /// - Throws: `BenchFailure` if the server does not send one.
    static func load(_ uri: String) async throws -> HLSPlaylist {
        let response = try await HTTPRequests.send("GET", uri)
        guard response.status == 200 else { throw BenchFailure("\(uri) was answered with status \(response.status)") }
        do {
            return try HLSPlaylist(response.body, from: uri)
        } catch {
            throw BenchFailure("\(uri) is no playlist: \(error)")
        }
    }

    /// Returns the violations of the response to a request of a playlist that accepts gzip.
    static func checkResponse(of uri: String) async throws -> [RuleViolation] {
        let response = try await HTTPRequests.send("GET", uri, headers: [("Accept-Encoding", "gzip")])
        guard response.status == 200 else { throw BenchFailure("\(uri) was answered with status \(response.status)") }
        return PlaylistResponseRules.check(
            contentType: response.contentType, contentEncoding: response.contentEncoding)
    }

    /// Follows the playlist until a time, or until its end.
    ///
    /// - Throws: `BenchFailure` if the server does not send a media playlist.
    func run(until end: Instant) async throws -> Observation {
        var observation = Observation(playlist: try await version(""))
        observation.violations = Set(try await Self.checkResponse(of: uri))
        observation.violations.formUnion(MediaPlaylistRules.check(text: observation.playlist.text))
        if let violation = try await checkDistance(observation.playlist) { observation.violations.insert(violation) }
        var changed = MonotonicClock.now()
        while observation.playlist.isLive, MonotonicClock.now() < end {
            let before = observation.playlist
            let after = try await next(before, &observation.violations)
            guard after != before else { continue }
            let now = MonotonicClock.now()
            let elapsed = after.nextNumber > before.nextNumber ? now - changed : nil
            if after.nextNumber > before.nextNumber { changed = now }
            observation.violations.formUnion(MediaPlaylistRules.check(after))
            observation.violations.formUnion(MediaPlaylistRules.check(after, after: before, elapsed: elapsed))
            observation.playlist = after
            observation.versions += 1
        }
        return observation
    }

    /// Loads the version after one, with a blocking reload if the server supports it.
    private func next(
        _ playlist: MediaPlaylist, _ violations: inout Set<RuleViolation>
    ) async throws -> MediaPlaylist {
        guard playlist.serverControl.canBlockReload else {
            try await Task.sleep(for: .nanoseconds(playlist.targetDuration.nanoseconds / 2))
            return try await version("")
        }
        let segment = playlist.nextNumber
        let part = playlist.partTargetDuration.map { _ in Int64(playlist.openSegment?.parts.count ?? 0) }
        let query = "_HLS_msn=\(segment)" + (part.map { "&_HLS_part=\($0)" } ?? "")
        let after = try await version(query)
        violations.formUnion(PlaylistResponseRules.check(after, contains: segment, part: part))
        return after
    }

    /// Returns the violation of a server that accepts a request too far ahead; nil if it refuses it.
    private func checkDistance(_ playlist: MediaPlaylist) async throws -> RuleViolation? {
        guard playlist.isLive, playlist.serverControl.canBlockReload else { return nil }
        let segment = playlist.nextNumber + PlaylistResponseRules.refusedDistance
        let response = try await HTTPRequests.send("GET", address("_HLS_msn=\(segment)"))
        guard response.status != 400 else { return nil }
        return RuleViolation(
            .requestTooFarAheadAccepted, "segment \(segment) was answered with status \(response.status)")
    }

    private func version(_ query: String) async throws -> MediaPlaylist {
        guard case .media(let playlist) = try await Self.load(address(query)) else {
            throw BenchFailure("\(uri) is a multivariant playlist, not a media playlist")
        }
        return playlist
    }

    /// Returns the URI with a query in addition to its own.
    private func address(_ query: String) -> String {
        query.isEmpty ? uri : uri + (uri.contains("?") ? "&" : "?") + query
    }
}

/// The playlists of a presentation, which are checked together.
struct PresentationObserver: Sendable {
    /// The observation of one playlist.
    struct Result: Sendable {
        /// The URI as the multivariant playlist has it.
        let uri: String
        let observation: PlaylistObserver.Observation
    }

    /// The URI of the multivariant playlist, or of a media playlist.
    let uri: String

    /// Follows all playlists until a time.
    ///
    /// - Returns: The observation of each media playlist, and the violations of the presentation.
    /// - Throws: `BenchFailure` if the server does not send playlists.
    func run(until end: Instant) async throws -> (results: [Result], violations: Set<RuleViolation>) {
        guard case .multivariant(let multivariant) = try await PlaylistObserver.load(uri) else {
            let observation = try await PlaylistObserver(uri: uri).run(until: end)
            return ([Result(uri: uri, observation: observation)], [])
        }
        let own = try await PlaylistObserver.checkResponse(of: uri)
        let base = URIReference(uri)
        let uris = Set(multivariant.variants.map(\.uri) + multivariant.renditions.compactMap(\.uri))
        let results = try await withThrowingTaskGroup(of: Result.self) { group in
            for relative in uris {
                let resolved = URIReference(relative).resolved(against: base).text
                group.addTask {
                    Result(uri: relative, observation: try await PlaylistObserver(uri: resolved).run(until: end))
                }
            }
            var results: [Result] = []
            for try await result in group { results.append(result) }
            return results.sorted { $0.uri < $1.uri }
        }
        // Rendition reports have URIs relative to their own playlist.
        let media = Dictionary(
            results.map { ($0.uri, Self.withReports(of: $0.observation.playlist, relativeTo: $0.uri)) },
            uniquingKeysWith: { first, _ in first })
        return (results, Set(PresentationRules.check(multivariant, media: media) + own))
    }

    /// Returns a playlist whose rendition reports have URIs relative to the multivariant playlist.
    private static func withReports(of playlist: MediaPlaylist, relativeTo uri: String) -> MediaPlaylist {
        var playlist = playlist
        for index in playlist.renditionReports.indices {
            playlist.renditionReports[index].uri =
                URIReference(playlist.renditionReports[index].uri)
                .resolved(against: URIReference(uri)).text
        }
        return playlist
    }
}
