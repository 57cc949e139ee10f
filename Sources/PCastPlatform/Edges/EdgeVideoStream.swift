import NIOCore
import PCastCore
import PCastEdgeAuth
import PCastHLS
import PCastPackaging

extension EdgeVideo {
    /// A stream that another node packages.
    struct Stream: Sendable {
        let id: StreamID
        let application: ApplicationID
        /// The declared names by which it was requested.
        var names: Set<StreamID> = []
        /// The node from which it is requested.
        var origin: StreamOrigin
        /// The tags that a viewer's token may require.
        var authorizingTags: [String]
        /// The signatures that are accepted, the newest one first.
        var signatures: [String]
        /// The identifiers of the nodes through which it is requested, the origin last.
        var path: [String]
        /// The time of the last answer of its origin, and of the last request of a viewer or node.
        var answered: Instant
        var requested: Instant
        /// The number of requests to the origin.
        var fetchCount = 0
        /// Whether a playlist with video was requested.
        var hasVideo = false
        /// The requests of viewers that wait for a part, by their renditions.
        var waiting: [String: Int] = [:]
        /// The viewers of nodes that request the stream from this one.
        var nodeViewers = NodeViewers()

        /// The path of the multivariant playlist that requires no token.
        var signedPath: String { "\(VideoRoutes.folder)/\(id)/\(signatures[0])/\(VideoRoutes.index)" }

        /// Whether a signature is one of those that are accepted. The time depends on its length only.
        func accepts(_ signature: String) -> Bool {
            signatures.reduce(false) { PackagedStream.areEqual(signature, $1) || $0 }
        }

        /// Whether a signature names a window before those that are accepted.
        func isExpired(_ signature: String) -> Bool {
            guard let window = Self.window(of: signature),
                let oldest = signatures.compactMap({ Self.window(of: $0) }).min()
            else { return false }
            return window < oldest
        }

        /// Whether a signature names the window after the newest one that is accepted. Viewers may receive it from the origin
        /// before this node does.
        func isNext(_ signature: String) -> Bool {
            guard let window = Self.window(of: signature), let newest = signatures.first.flatMap(Self.window(of:))
            else { return false }
            return window == newest &+ 1
        }

        private static func window(of signature: String) -> Int64? { Int64(signature.prefix { $0 != "-" }) }

        /// Returns the number of viewers that wait for a part, here and at nodes that request the stream from this one.
        func viewerCount(at now: Instant) -> Int { waitingCount + nodeViewers.count(at: now) }

        /// Returns the number of viewers of this node that wait for a part.
        func ownViewerCount(at now: Instant) -> Int { max(waitingCount - nodeViewers.nodeCount(at: now), 0) }

        private var waitingCount: Int {
            var (video, audio) = (0, 0)
            for (rendition, count) in waiting where rendition != StreamPackager.captionsName {
                if rendition.hasPrefix(PackagedStream.videoPrefix) { video += count } else { audio += count }
            }
            return max(video, audio)
        }
    }

    /// A playlist, file or image of a stream.
    struct Resource: Hashable, Sendable {
        enum Kind: Hashable, Sendable {
            case multivariantPlaylist(PlaylistAudio)
            case playlist(String, DeliveryDirectives)
            case file(String, of: String)
            case thumbnail
        }

        let stream: StreamID
        let kind: Kind

        /// Whether the content may be kept, and for how long.
        enum Lifetime: Hashable, Sendable {
            case none
            case limited(TimeSpan)
            case unlimited
        }

        /// The time for which a playlist is kept, which is less than the duration of any part.
        static let playlistLifetime = TimeSpan.milliseconds(50)
        /// The same of multivariant playlists and images. Those do not change with each part.
        static let longLifetime = TimeSpan.seconds(1 as Int64)

        var lifetime: Lifetime {
            switch kind {
            case .playlist: .limited(Self.playlistLifetime)
            case .multivariantPlaylist, .thumbnail: .limited(Self.longLifetime)
            // Nobody receives a key after the access was revoked.
            case .file(let file, _): file.hasSuffix(PackagedFile.keySuffix) ? .none : .unlimited
            }
        }

        /// Whether the content is a text, which origins send with gzip.
        var isPlaylist: Bool {
            switch kind {
            case .multivariantPlaylist, .playlist: true
            case .file, .thumbnail: false
            }
        }

        /// The path below the signature, with the query; nil for an image.
        var path: String? {
            switch kind {
            case .multivariantPlaylist(.aac): VideoRoutes.index
            case .multivariantPlaylist(let audio): "\(VideoRoutes.index)?audio=\(audio.rawValue)"
            case .playlist(let rendition, let directives):
                directives.applied(to: rendition + VideoRoutes.playlistSuffix)
            case .file(let file, let rendition): "\(rendition)/\(file)"
            case .thumbnail: nil
            }
        }

        /// Creates the resource of a media playlist. Its directives are those of a query, whose other parameters have no
        /// meaning.
        ///
        /// - Throws: ``APIError`` if the name or a directive is malformed.
        static func playlist(
            _ name: String, _ query: String, of stream: StreamID
        ) throws(APIError) -> Resource {
            guard name.isPathSegment, name.hasSuffix(VideoRoutes.playlistSuffix) else { throw .noStream }
            let rendition = String(name.dropLast(VideoRoutes.playlistSuffix.count))
            return Resource(stream: stream, kind: .playlist(rendition, try VideoRoutes.directives(query)))
        }

        /// Creates the resource of a file.
        ///
        /// - Throws: ``APIError`` if the name is malformed.
        static func file(_ file: String, of rendition: String, stream: StreamID) throws(APIError) -> Resource {
            guard file.isPathSegment, rendition.isPathSegment else { throw .noStream }
            return Resource(stream: stream, kind: .file(file, of: rendition))
        }
    }

    /// The content of a resource.
    enum Content: Sendable {
        case playlist(RenderedPlaylist)
        case bytes(ByteBuffer)

        /// The bytes in memory.
        var size: Int {
            switch self {
            case .playlist(let playlist): playlist.plain.readableBytes + (playlist.gzip?.readableBytes ?? 0)
            case .bytes(let bytes): bytes.readableBytes
            }
        }
    }
}
