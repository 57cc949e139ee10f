import Foundation
import PCast
import PCastCore
import PCastEdgeAuth
import PCastJSON
import PCastPlatform

/// The platform of a publisher: an external one, or one that is embedded in this process.
struct PublishTarget: Sendable {
    /// The URI of the platform; nil if the token contains it.
    let uri: String?
    let tokens: TokenPair
    /// The application whose tokens subscribers need; nil if it is unknown or no token is necessary.
    let viewers: ApplicationTokens?
    /// The embedded platform; nil if it is external.
    let running: RunningPlatform?
    private let credentials: LocalCredentialsFile?

    /// Returns an external platform, which the URI or the token identifies.
    ///
    /// - Throws: ``CommandFailure``.
    static func named(uri: String?, tokens: [String]) throws -> PublishTarget {
        if EndpointURI.isWHIP(uri) {
            return PublishTarget(
                uri: uri, tokens: TokenPair(authentication: "", stream: try EndpointURI.token(tokens) ?? ""),
                viewers: nil, running: nil, credentials: nil)
        }
        let running = LocalCredentialsFile.running(in: .standard())
        if tokens.isEmpty, let local = running.first(where: { $0.isOf(uri: uri) }) {
            let application = ApplicationTokens(application: local.application)
            return PublishTarget(
                uri: uri, tokens: try application.publisherPair(),
                viewers: try PlatformURI.isOnThisComputer(local.uri) ? nil : application, running: nil, credentials: nil
            )
        }
        let target = uri ?? tokens.lazy.compactMap { TokenPair.field("uri", of: $0) }.first
        let isLocal = try target.map(PlatformURI.isOnThisComputer) ?? false
        guard isLocal || !tokens.isEmpty else { throw CommandFailure.needsToken }
        return PublishTarget(
            uri: uri, tokens: try TokenPair(tokens, isLocal: isLocal), viewers: nil, running: nil, credentials: nil)
    }

    /// Starts an embedded platform, and writes its credentials for the user's other programs. If `listen` is nil, it
    /// uses the default address, or a free port if that is in use.
    ///
    /// - Throws: ``CommandFailure``.
    static func embedded(listen: ListenArgument?, _ console: Console) async throws -> PublishTarget {
        let application = RandomApplication.make(id: "local")
        let target = listen ?? .standard
        // The default ports are tried first, because links and firewalls know them. An address that the user chose is
        // not replaced.
        var ports = [(Int(target.port), PlatformConfiguration.defaultRTCPort), (Int(target.port), 0)]
        if listen == nil { ports.append((0, 0)) }
        let running = try await RunningPlatform.start(
            firstOf: ports.map { port, rtcPort in
                PlatformConfiguration(
                    host: target.host, port: port, rtcPort: rtcPort, applications: [application.platformApplication])
            }, console)
        let uri = running.listening.uri
        do {
            let file = try LocalCredentialsFile.write(
                LocalCredentials(uri: uri, applicationId: application.id, secret: application.secret, pid: getpid()),
                in: .standard())
            let tokens = ApplicationTokens(application: application)
            return PublishTarget(
                uri: uri, tokens: try tokens.publisherPair(),
                viewers: running.listening.allowsAnonymousLoopback ? nil : tokens, running: running, credentials: file)
        } catch {
            await running.stop()
            throw error
        }
    }

    /// The bearer token for a WHIP endpoint; nil for none.
    var endpointToken: String? { tokens.stream.isEmpty ? nil : tokens.stream }

    /// Returns the link for a browser, with a token if one is necessary and can be created.
    func watchLink(stream: String) throws -> String {
        let platform = uri ?? TokenPair.field("uri", of: tokens.stream) ?? ""
        return WatchLink.text(platform: platform, stream: stream, token: try viewers?.viewing(stream: stream))
    }

    /// Stops an embedded platform and removes its credentials.
    func close() async {
        credentials?.remove(ifOf: getpid())
        await running?.stop()
    }
}

extension ApplicationTokens {
    fileprivate func publisherPair() throws(EdgeAuthError) -> TokenPair {
        TokenPair(authentication: try authentication(), stream: try publishing())
    }
}

/// Reports about the platform for users and programs.
extension PublishTarget {
    /// Reports the address of an embedded platform, if there is one. `isAsked` is whether the user chose the address.
    func announce(on console: Console, isAsked: Bool) {
        guard let listening = running?.listening else { return }
        console.event("listening", ["uri": .string(listening.uri), "rtcPort": .count(listening.rtcPort)])
        if !isAsked, !listening.uri.hasSuffix(":\(ListenArgument.standard.port)") {
            console.inform("Port \(ListenArgument.standard.port) is in use by another program. Using a free port.")
        }
    }

    /// Reports that a stream is published, with the link to view it.
    func report(_ publisher: Publisher, on console: Console) {
        let stream = publisher.streamID.description
        if let uri, EndpointURI.isWHIP(uri) {
            console.event("publishing", ["streamId": .string(stream), "watch": .null])
            console.inform("Publishing to \(EndpointURI.shown(uri)).")
            if !console.isLive { console.inform("Press Ctrl-C to stop.") }
            return
        }
        let watch: String
        do {
            watch = try watchLink(stream: stream)
        } catch {
            console.warn("Publishing. The link to watch cannot be created: \(error).")
            return
        }
        console.event("publishing", ["streamId": .string(stream), "watch": .string(watch)])
        console.inform("Publishing. Watch at \(watch)")
        if viewers != nil {
            console.inform("Anybody with this link can watch the stream for up to 24 hours, so share it with care.")
        } else if running != nil {
            console.inform("The stream is available on this host only. “pcast subscribe” subscribes to it.")
        }
        if !console.isLive { console.inform("Press Ctrl-C to stop.") }
    }
}
