import Glibc
import PCastCodecs
import PCastCore
import PCastIO

/// An address of foreign media as this process may open it: judged, written with the number that was judged or led
/// through a ``OutboundProxy``, and everything else shut to libavformat.
///
/// | scheme | what holds the guard |
/// |---|---|
/// | `http`, `https`, and playlists in them | each request goes through a proxy of our own, which judges its host |
/// | `rtmps` | the same proxy, as TLS goes through one |
/// | `rtsp` | a relay to the judged address, media within its connection; who sends elsewhere is cut off |
/// | `srt`, `rtmp` | the number in place of the name: neither knows redirections |
/// | `file` | a folder, without symbolic links out of it, and no playlists |
struct OutboundPolicy: Sendable {
    /// For libavformat.
    let uri: String
    /// For people: without secrets.
    let name: String
    /// libavformat's name of the format that is pushed; nil for a file.
    let pushFormat: String?
    let isListener: Bool
    private let secrets: [String]
    /// Live as long as this.
    private let relay: OutboundProxy?
    private let file: FolderFile?
    /// Of a file; nil for an address.
    let fileName: String?

    /// Judges, and restricts the process.
    ///
    /// - Parameter refused: is told of each connection that was refused on the way.
    /// - Throws: `failed` with the reason.
    static func open(_ order: IngestJob, refused: @escaping @Sendable (String) -> Void) throws(PCastError)
        -> OutboundPolicy
    {
        guard let uri = MediaURI(order.uri) else { throw failure("this is no address of media") }
        do {
            return try make(uri, order, refused)
        } catch let refusal as AddressRefusal {
            throw failure("\(refusal)")
        } catch let error as PCastError {
            throw error
        } catch {
            throw failure("\(error)")
        }
    }

    private static func make(
        _ uri: MediaURI, _ order: IngestJob, _ refused: @escaping @Sendable (String) -> Void
    ) throws -> OutboundPolicy {
        let addresses = AddressPolicy(listed: order.networks.compactMap { IPNetwork($0) })
        var access = MediaAccess(schemes: [uri.scheme.rawValue], protocols: [], formats: [])
        var text = order.uri
        var relay: OutboundProxy?
        var opened: FolderFile?
        switch uri.scheme {
        case .http, .https, .rtmps:
            let (address, own) = try guardAddress(order) { try OutboundProxy(.proxy(addresses), refused: refused) }
            relay = own
            // The environment, because every part of libavformat asks it, however deep in a playlist.
            for name in ["http_proxy", "https_proxy"] { setenv(name, "http://\(address)", 1) }
            for name in ["no_proxy", "NO_PROXY"] { unsetenv(name) }
            if uri.scheme != .rtmps { access.schemes = ["http", "https"] }
            access.protocols = ["http", "https", "rtmps", "tls", "tcp", "httpproxy", "crypto"]
            access.formats = uri.scheme == .rtmps ? ["flv", "live_flv"] : Self.filmFormats + ["hls", "dash"]
            access.options = ["tls_verify": "1", "user_agent": "pcast"]
        case .rtsp:
            guard uri.path.allSatisfy({ $0 != "?" }) || !Self.choosesTransport(uri) else {
                throw failure("RTSP is read within its own connection: leave the transport in the query away")
            }
            let (address, own) = try guardAddress(order) {
                try OutboundProxy(.rtsp(addresses.judge(host: uri.host, port: uri.port)), refused: refused)
            }
            relay = own
            text = uri.text(at: address)
            access.protocols = ["tcp"]
            access.formats = ["rtsp", "mpegts"]
            access.options = ["rtsp_transport": "tcp", "fflags": "nobuffer"]
        case .rtmp:
            // The guard beside this process leads to what it has judged.
            let beside = order.guardAddress.flatMap { TransportAddress($0) }
            text = uri.text(at: try beside ?? addresses.judge(host: uri.host, port: uri.port))
            access.protocols = ["rtmp", "tcp"]
            access.formats = ["flv", "live_flv"]
            access.options = ["rtmp_tcurl": Self.connectURL(uri), "fflags": "nobuffer"]
        case .srt:
            if let listen = order.listen.flatMap({ IPAddress($0) }) {
                text = uri.text(at: TransportAddress(ip: listen, port: uri.port))
                access.openingPatience = Self.listenerPatience
            } else {
                guard !uri.isListener else { throw failure("nobody may be listened for here") }
                text = uri.text(at: try addresses.judge(host: uri.host, port: uri.port))
            }
            access.protocols = ["srt"]
            access.formats = ["mpegts"]
            access.options = ["fflags": "nobuffer"]
        case .file:
            let file = try file(uri, order)
            (text, opened) = (file.path, file)
            access.protocols = ["file"]
            access.formats = Self.filmFormats
        }
        // What is written has a format of ours.
        if order.kind == .egress {
            access.formats = []
            access.options["fflags"] = nil
        }
        MediaAccess.restrict(to: access)
        let query = uri.path.firstIndex(of: "?").map { String(uri.path[$0...].dropFirst()) }
        return OutboundPolicy(
            uri: text, name: "\(uri)", pushFormat: Self.pushFormat(uri.scheme), isListener: order.listen != nil,
            secrets: [uri.userInfo, query, Self.key(uri)].compactMap { $0 }.filter { !$0.isEmpty }, relay: relay,
            file: opened,
            fileName: opened.map { _ in String(uri.path[(uri.path.lastIndex(of: "/") ?? uri.path.startIndex)...]) })
    }

    /// The guard beside this process, or one within it.
    private static func guardAddress(
        _ order: IngestJob, _ make: () throws -> OutboundProxy
    ) throws -> (TransportAddress, OutboundProxy?) {
        if let address = order.guardAddress.flatMap({ TransportAddress($0) }) { return (address, nil) }
        let own = try make()
        return (own.address, own)
    }

    /// A text without what is secret in the address.
    func redacted(_ text: String) -> String {
        var text = text.replacing(uri, with: name)
        for secret in secrets { text = text.replacing(secret, with: "…") }
        return text
    }

    // MARK: Schemes

    private static let listenerPatience = Duration.seconds(7 * 86_400)

    /// Containers and bare streams that name nothing outside of themselves.
    private static let filmFormats = [
        "mpegts", "mov", "mp4", "matroska", "webm", "flv", "live_flv", "avi", "ogg", "mpeg", "h264", "aac", "mp3",
        "wav",
        "flac",
    ]

    /// libavformat takes the transport out of the query, past what it was told.
    private static func choosesTransport(_ uri: MediaURI) -> Bool {
        let words = uri.path.drop { $0 != "?" }.split { "?&".contains($0) }
        return words.contains { ["udp", "multicast", "tcp", "http", "https", "listen"].contains($0) }
    }

    /// What RTMP's `connect` names: the host as it was written, and the application.
    private static func connectURL(_ uri: MediaURI) -> String {
        let parts = uri.path.prefix { $0 != "?" }.split(separator: "/")
        let hasInstance = parts.count > 2 && !parts[1].contains(":")
        let host = uri.host.contains(":") ? "[\(uri.host)]" : uri.host
        return "rtmp://\(host):\(uri.port)/" + parts.prefix(hasInstance ? 2 : 1).joined(separator: "/")
    }

    /// The name of RTMP's stream, which is what its publisher proves himself by.
    private static func key(_ uri: MediaURI) -> String? {
        guard [.rtmp, .rtmps].contains(uri.scheme) else { return nil }
        return uri.path.prefix { $0 != "?" }.split(separator: "/").dropFirst().last.map(String.init)
    }

    private static func pushFormat(_ scheme: MediaURI.Scheme) -> String? {
        switch scheme {
        case .rtmp, .rtmps: "flv"
        case .srt: "mpegts"
        case .rtsp: "rtsp"
        case .http, .https, .file: nil
        }
    }

    private static func file(_ uri: MediaURI, _ order: IngestJob) throws(PCastError) -> FolderFile {
        let isWritten = order.kind == .egress
        guard let folder = order.folder, let file = FolderFile(uri.path, in: folder, isWritten: isWritten) else {
            throw failure("there is no such file in the folder of files")
        }
        return file
    }

    private static func failure(_ why: String) -> PCastError { PCastError(.failed, .connection, why) }
}
