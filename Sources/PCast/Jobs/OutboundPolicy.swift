import Glibc
import PCastCodecs
import PCastCore
import PCastDevices
import PCastIO

/// An untrusted media address that this process may open.
///
/// The address has been checked, and either contains the checked IP address in place of the host name or is reached
/// through an `OutboundProxy`. libavformat cannot open anything else.
///
/// | scheme | enforcement of the policy |
/// |---|---|
/// | `http`, `https`, and playlists in them | each request goes through a local HTTP proxy, which checks the host |
/// | `rtmps` | the same proxy, which tunnels TLS |
/// | `rtsp` | a proxy for the checked address, with the media in the same connection; a redirection closes it |
/// | `srt`, `rtmp` | the IP address in place of the name; neither protocol has redirections |
/// | WHIP, WHEP (also pushes to `http`) | the HTTP proxy, and the candidates of the answer are checked |
/// | `file` | a folder, without symbolic links out of it and without playlists |
struct OutboundPolicy: Sendable {
    /// The URI for libavformat.
    let uri: String
    /// The address as a text for people, without secrets.
    let name: String
    /// libavformat's name of the format that is pushed; nil for a file.
    let pushFormat: String?
    /// The endpoint of WHIP or WHEP; nil for other addresses, which libavformat opens.
    let endpoint: WebRTCHTTPEndpoint?
    /// Whether the job listens for a caller (SRT).
    let isListener: Bool
    private let secrets: [String]
    /// The proxy of this process, which lives as long as the policy; nil if another process runs it, or if there is
    /// none.
    private let proxy: OutboundProxy?
    /// The opened file, which lives as long as the policy; nil for an address.
    private let file: FolderFile?
    /// The name of a file; nil for an address.
    let fileName: String?

    /// Whether the address is the file of a still image.
    var isStillImage: Bool {
        guard let name = fileName?.lowercased() else { return false }
        return StillImageSource.extensions.contains { name.hasSuffix($0) }
    }

    /// Checks the address and restricts libavformat in this process.
    ///
    /// - Parameters:
    ///   - order: The job with the address.
    ///   - refused: A function that receives the reason of each connection that the proxy refused.
    /// - Returns: The address that may be opened.
    /// - Throws: `PCastError` with the status `failed` and the reason if the address is refused.
    static func open(_ order: IngestJob, refused: @escaping @Sendable (String) -> Void) throws(PCastError)
        -> OutboundPolicy
    {
        guard let uri = MediaURI(order.uri) else {
            throw failure("the URI is not supported: use http, https, whip, whep, rtsp, srt, rtmp or rtmps")
        }
        do {
            return try make(uri, order, refused)
        } catch let refusal as AddressRejection {
            throw failure("\(refusal)")
        } catch let error as PCastError {
            throw error
        } catch {
            throw failure("\(error)")
        }
    }

    /// Returns the policy of a parsed address. Throws an error if the address is refused.
    private static func make(
        _ uri: MediaURI, _ order: IngestJob, _ refused: @escaping @Sendable (String) -> Void
    ) throws -> OutboundPolicy {
        let addresses = AddressPolicy(listed: order.networks.compactMap { IPNetwork($0) })
        var access = MediaAccess(schemes: [uri.scheme.rawValue], protocols: [], formats: [])
        var text = order.uri
        var proxy: OutboundProxy?
        var opened: FolderFile?
        var endpoint: WebRTCHTTPEndpoint?
        let isPushed = order.kind == .egress
        switch uri.scheme {
        case .http where isPushed, .https where isPushed, .whip, .whips, .whep, .wheps:
            let (address, own) = try guardAddress(order) { try OutboundProxy(.proxy(addresses), refused: refused) }
            proxy = own
            endpoint = try WebRTCHTTPEndpoint(order.uri)
            endpoint?.proxy = address
            endpoint?.permits = { addresses.mayReach($0) }
        case .http, .https, .rtmps:
            let (address, own) = try guardAddress(order) { try OutboundProxy(.proxy(addresses), refused: refused) }
            proxy = own
            // The variables are in the environment because every part of libavformat reads them, however deep in a
            // playlist.
            for name in ["http_proxy", "https_proxy"] { setenv(name, "http://\(address)", 1) }
            for name in ["no_proxy", "NO_PROXY"] { unsetenv(name) }
            if uri.scheme != .rtmps { access.schemes = ["http", "https"] }
            access.protocols = ["http", "https", "rtmps", "tls", "tcp", "httpproxy", "crypto"]
            access.formats = uri.scheme == .rtmps ? ["flv", "live_flv"] : Self.filmFormats + ["hls", "dash"]
            access.options = ["tls_verify": "1", "user_agent": "pcast"]
        case .rtsp:
            guard uri.path.allSatisfy({ $0 != "?" }) || !Self.choosesTransport(uri) else {
                throw failure("RTSP media uses the RTSP connection: remove the transport from the query")
            }
            let (address, own) = try guardAddress(order) {
                try OutboundProxy(.rtsp(addresses.evaluate(host: uri.host, port: uri.port)), refused: refused)
            }
            proxy = own
            text = uri.text(at: address)
            access.protocols = ["tcp"]
            access.formats = ["rtsp", "mpegts"]
            access.options = ["rtsp_transport": "tcp", "fflags": "nobuffer"]
        case .rtmp:
            // The proxy of the parent process connects to the address that it has checked.
            let beside = order.guardAddress.flatMap { TransportAddress($0) }
            text = uri.text(at: try beside ?? addresses.evaluate(host: uri.host, port: uri.port))
            access.protocols = ["rtmp", "tcp"]
            access.formats = ["flv", "live_flv"]
            access.options = ["rtmp_tcurl": Self.connectURL(uri), "fflags": "nobuffer"]
        case .srt:
            if let listen = order.listen.flatMap({ IPAddress($0) }) {
                text = uri.text(at: TransportAddress(ip: listen, port: uri.port))
                access.openTimeout = Self.listenerTimeout
            } else {
                guard !uri.isListener else {
                    throw failure("SRT listeners are not allowed: set --srt-pull-ports of “pcast serve”")
                }
                text = uri.text(at: try addresses.evaluate(host: uri.host, port: uri.port))
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
        // The format of the output is the system's own choice.
        if order.kind == .egress {
            access.formats = []
            access.options["fflags"] = nil
        }
        MediaAccess.restrict(to: access)
        let query = uri.path.firstIndex(of: "?").map { String(uri.path[$0...].dropFirst()) }
        return OutboundPolicy(
            uri: text, name: "\(uri)", pushFormat: Self.pushFormat(uri.scheme), endpoint: endpoint,
            isListener: order.listen != nil,
            secrets: [uri.userInfo, query, Self.key(uri)].compactMap { $0 }.filter { !$0.isEmpty }, proxy: proxy,
            file: opened,
            fileName: opened.map { _ in String(uri.path[(uri.path.lastIndex(of: "/") ?? uri.path.startIndex)...]) })
    }

    /// Returns the address of the proxy of the parent process, or else creates one in this process and returns it too.
    private static func guardAddress(
        _ order: IngestJob, _ make: () throws -> OutboundProxy
    ) throws -> (TransportAddress, OutboundProxy?) {
        if let address = order.guardAddress.flatMap({ TransportAddress($0) }) { return (address, nil) }
        let own = try make()
        return (own.address, own)
    }

    /// Returns a text without the secrets of the address.
    func redacted(_ text: String) -> String {
        var text = text.replacing(uri, with: name)
        for secret in secrets { text = text.replacing(secret, with: "…") }
        return text
    }

    // MARK: Schemes

    /// The time for which a listener waits for a caller: seven days.
    private static let listenerTimeout = Duration.seconds(7 * 86_400)

    /// The containers and elementary streams that cannot refer to other files or addresses.
    private static let filmFormats = [
        "mpegts", "mov", "mp4", "matroska", "webm", "flv", "live_flv", "avi", "ogg", "mpeg", "h264", "aac", "mp3",
        "wav",
        "flac", "png_pipe", "jpeg_pipe",
    ]

    /// Returns whether the query chooses a transport. libavformat reads it from the query, in spite of its options.
    private static func choosesTransport(_ uri: MediaURI) -> Bool {
        let words = uri.path.drop { $0 != "?" }.split { "?&".contains($0) }
        return words.contains { ["udp", "multicast", "tcp", "http", "https", "listen"].contains($0) }
    }

    /// Returns the `tcUrl` of RTMP's `connect` command: the original host and the application.
    private static func connectURL(_ uri: MediaURI) -> String {
        let parts = uri.path.prefix { $0 != "?" }.split(separator: "/")
        let hasInstance = parts.count > 2 && !parts[1].contains(":")
        let host = uri.host.contains(":") ? "[\(uri.host)]" : uri.host
        return "rtmp://\(host):\(uri.port)/" + parts.prefix(hasInstance ? 2 : 1).joined(separator: "/")
    }

    /// Returns the name of the RTMP stream, which is the publisher's secret; nil for other schemes.
    private static func key(_ uri: MediaURI) -> String? {
        guard [.rtmp, .rtmps].contains(uri.scheme) else { return nil }
        return uri.path.prefix { $0 != "?" }.split(separator: "/").dropFirst().last.map(String.init)
    }

    /// Returns libavformat's name of the format that is pushed; nil for a file.
    private static func pushFormat(_ scheme: MediaURI.Scheme) -> String? {
        switch scheme {
        case .rtmp, .rtmps: "flv"
        case .srt: "mpegts"
        case .rtsp: "rtsp"
        case .http, .https, .file, .whip, .whips, .whep, .wheps: nil
        }
    }

    /// Opens the file of the address in the folder of files. Throws an error if there is none.
    private static func file(_ uri: MediaURI, _ order: IngestJob) throws(PCastError) -> FolderFile {
        let isWritten = order.kind == .egress
        guard let folder = order.folder, let file = FolderFile(uri.path, in: folder, isWritten: isWritten) else {
            throw failure("the file does not exist in --media-directory")
        }
        return file
    }

    private static func failure(_ why: String) -> PCastError { PCastError(.failed, .connection, why) }
}
