import Glibc
public import PCastCore
import PCastIO

/// The policy for media URIs of jobs. The processes enforce the same policy for each connection.
struct JobPolicy: Sendable {
    let configuration: JobConfiguration
    /// The address that this platform listens on.
    let listen: IPAddress
    /// Returns the addresses of this host, on the thread that resolves the host of a URI.
    var ownAddresses: @Sendable () -> [IPAddress] = AddressPolicy.interfaceAddresses

    /// A permitted URI.
    struct Admitted: Sendable {
        let uri: MediaURI
        /// The address to listen on; nil for a URI that is connected to.
        let listen: IPAddress?
    }

    /// Checks the URI of a job.
    ///
    /// - Throws: ``APIError`` with the reason for the client.
    func admit(_ text: String, for kind: IngestJob.Kind) async throws(APIError) -> Admitted {
        guard let uri = MediaURI(text) else {
            throw Self.refusal("the URI is not supported; use http, https, whip, whep, rtsp, srt, rtmp or rtmps")
        }
        switch uri.scheme {
        case .file: try admitFile(uri, kind)
        case .http, .https: try await evaluate(uri)
        case .whip, .whips:
            guard kind == .egress else {
                throw Self.refusal("\(uri.scheme.rawValue) is for pushing; pull from whep or wheps")
            }
            try await evaluate(uri)
        case .whep, .wheps:
            guard kind == .publish else {
                throw Self.refusal("\(uri.scheme.rawValue) is for pulling; push to whip or whips")
            }
            try await evaluate(uri)
        case .srt:
            guard ["", "caller", "listener"].contains(uri.query("mode").joined(separator: " ")) else {
                throw Self.refusal("the SRT mode is invalid; use mode=caller or mode=listener")
            }
            if uri.isListener { return Admitted(uri: uri, listen: try admitListener(uri)) }
            try await evaluate(uri)
        case .rtsp, .rtmp, .rtmps: try await evaluate(uri)
        }
        return Admitted(uri: uri, listen: nil)
    }

    private func evaluate(_ uri: MediaURI) async throws(APIError) {
        do throws(AddressRejection) {
            _ = try await AddressPolicy(listed: configuration.networks, own: ownAddresses)
                .resolveAndCheck(host: uri.host, port: uri.port)
        } catch {
            switch error {
            case .unknown: throw Self.refusal("\(error)")
            // The private address of a name is only logged for the operator.
            case .forbidden:
                throw Self.refusal(
                    "\(uri.host) is not a public address; the operator can allow it with --media-allow",
                    detail: "\(error)")
            }
        }
    }

    /// Returns the address to listen on for an encoder. The unspecified address means the one that the platform listens
    /// on, which may be loopback.
    ///
    /// - Throws: ``APIError``.
    private func admitListener(_ uri: MediaURI) throws(APIError) -> IPAddress {
        guard let ports = configuration.listenerPorts, ports.contains(uri.port) else {
            let allowed = configuration.listenerPorts.map { "\($0.lowerBound) to \($0.upperBound)" } ?? "none"
            throw Self.refusal("the SRT listener's port is not allowed; use one of \(allowed)")
        }
        guard let host = IPAddress(uri.host), host.isUnspecified || host == listen else {
            throw Self.refusal(
                "the SRT listener's host is invalid; use 0.0.0.0, which means any address of the platform")
        }
        return listen
    }

    private func admitFile(_ uri: MediaURI, _ kind: IngestJob.Kind) throws(APIError) {
        guard let folder = configuration.directory, let root = Self.resolved(folder) else {
            throw Self.refusal("file URIs are not allowed; the operator can allow them with --media-directory")
        }
        let file = uri.path
        let existing =
            kind == .publish ? file : String(file[..<(file.utf8.lastIndex(of: UInt8(ascii: "/")) ?? file.startIndex)])
        guard let directory = Self.resolved(existing), (directory + "/").utf8.starts(with: (root + "/").utf8) else {
            throw Self.refusal("the file does not exist in --media-directory")
        }
    }

    /// Returns a path without symbolic links; nil if it does not exist.
    private static func resolved(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }

    private static func refusal(_ why: String, detail: String? = nil) -> APIError {
        APIError(.badRequest, "The URI is rejected: \(why).", detail: detail)
    }
}

/// The configuration of ingest and egress jobs: the program that opens external media in its own process, and the
/// addresses that it may use.
public struct JobConfiguration: Sendable {
    /// The path of the program.
    public var program: String
    /// The arguments of the program, `worker` for `pcast`.
    public var arguments: [String]
    /// The networks that are permitted although they are not public.
    public var networks: [IPNetwork]
    /// The ports on which jobs may listen for encoders (`srt://0.0.0.0:PORT?mode=listener`); nil for none.
    public var listenerPorts: ClosedRange<UInt16>?
    /// The directory in which files may be read and written; nil for none.
    public var directory: String?
    /// The maximum number of jobs.
    public var limit: Int
    /// The time in which a job must start. The default is shorter than the client's timeout of ten seconds.
    package var startTimeout = TimeSpan.seconds(8)

    /// The default of `limit`.
    public static let defaultLimit = 16

    /// Creates a configuration.
    public init(
        program: String, arguments: [String], networks: [IPNetwork] = [], listenerPorts: ClosedRange<UInt16>? = nil,
        directory: String? = nil, limit: Int = defaultLimit
    ) {
        self.program = program
        self.arguments = arguments
        self.networks = networks
        self.listenerPorts = listenerPorts
        self.directory = directory
        self.limit = limit
    }
}
