import Foundation
import PCastEdgeAuth
import PCastMedia
import PCastPlatform

/// Where a publisher publishes to: a platform that was named, or one in this process.
struct PublishPlace: Sendable {
    /// Nil where the token names the platform.
    let uri: String?
    let tokens: TokenPair
    /// Whose tokens viewers need; nil when only the platform's owner knows, or no token is needed.
    let viewers: ApplicationTokens?
    /// Of a platform in this process.
    let running: RunningPlatform?
    private let credentials: LocalCredentialsFile?

    /// A platform that was named by its address, or by what the token says.
    static func named(uri: String?, tokens: [String]) throws -> PublishPlace {
        let running = LocalCredentialsFile.running(in: .standard())
        if tokens.isEmpty, let local = running.first(where: { $0.isOf(uri: uri) }) {
            let application = ApplicationTokens(application: local.application)
            return PublishPlace(
                uri: uri, tokens: try application.publisherPair(),
                viewers: try PlatformURI.isOnThisComputer(local.uri) ? nil : application, running: nil, credentials: nil
            )
        }
        let place = uri ?? tokens.lazy.compactMap { TokenPair.field("uri", of: $0) }.first
        let isLocal = try place.map(PlatformURI.isOnThisComputer) ?? false
        guard isLocal || !tokens.isEmpty else { throw CommandFailure.needsToken }
        return PublishPlace(
            uri: uri, tokens: try TokenPair(tokens, isLocal: isLocal), viewers: nil, running: nil, credentials: nil)
    }

    /// Starts a platform in this process, and leaves its credentials for the user's other programs.
    ///
    /// - Parameter listen: nil for the usual place, or another when that is taken.
    static func embedded(listen: ListenArgument?, _ console: Console) async throws -> PublishPlace {
        let application = RandomApplication.make(id: "local")
        let place = listen ?? .standard
        // The ports that links and firewalls know, else free ones; a place that was asked for is that place.
        var ports = [(Int(place.port), PlatformConfiguration.defaultRTCPort), (Int(place.port), 0)]
        if listen == nil { ports.append((0, 0)) }
        let running = try await RunningPlatform.start(
            firstOf: ports.map { port, rtcPort in
                PlatformConfiguration(
                    host: place.host, port: port, rtcPort: rtcPort, applications: [application.platformApplication])
            }, console)
        let uri = running.listening.uri
        do {
            let file = try LocalCredentialsFile.write(
                LocalCredentials(uri: uri, applicationId: application.id, secret: application.secret, pid: getpid()),
                in: .standard())
            let tokens = ApplicationTokens(application: application)
            return PublishPlace(
                uri: uri, tokens: try tokens.publisherPair(),
                viewers: running.listening.isOpenToThisMachine ? nil : tokens, running: running, credentials: file)
        } catch {
            await running.stop()
            throw error
        }
    }

    /// The link for a browser; it carries a token where one is needed and can be made.
    func watchLink(stream: String) throws -> String {
        let platform = uri ?? TokenPair.field("uri", of: tokens.stream) ?? ""
        return WatchLink.text(platform: platform, stream: stream, token: try viewers?.viewing(stream: stream))
    }

    /// Ends the platform of this process, and takes its credentials away.
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
