import Foundation
import PCast
import PCastCompatibility
import PCastCore
import PCastEdgeAuth
import Testing

extension EndToEnd.SDKDocumentation {
    @Suite("Authentication")
    struct AuthenticationTests {
        /// A client with the values that its three callbacks received.
        private struct Client {
            let pcast: PCast
            let received = Awaited<PCastEvent>()

            init(_ uri: String, token: String) {
                pcast = PCast(PCastOptions(uri: uri))
                let received = received
                pcast.start(
                    token, authenticationCallback: { received.add(.authenticated($1, $2)) },
                    onlineCallback: { _ in received.add(.online) }, offlineCallback: { _ in received.add(.offline) })
            }

            func isNotified(_ matches: @escaping @Sendable (PCastEvent) -> Bool) async -> PCastEvent? {
                await received.first(where: matches)
            }

            /// Waits for the first status that the authentication callback received, with the session.
            func authentication(
                _ matches: @escaping @Sendable (RequestStatus) -> Bool = { _ in true }
            ) async throws -> (status: RequestStatus, session: SessionID?) {
                let event = await isNotified {
                    if case .authenticated(let status, _) = $0 { matches(status) } else { false }
                }
                guard case .authenticated(let status, let session)? = event else {
                    throw EndToEndFailure("no authentication callback: \(received.values)")
                }
                return (status, session)
            }
        }

        @Test(
            "The authentication token generated using the Phenix EdgeAuth library",
            .enabled(if: ThisMachine.hasEdgeAuth), .timeLimit(.minutes(5)))
        func edgeAuth() async throws {
            let shared = try SharedPlatform.current()
            let client = Client(shared.platform.uri, token: try await shared.publicToken("authentication"))
            #expect(try await client.authentication().status == .ok)
            await client.pcast.shutdown()
        }

        @Test(
            "Called upon successful authentication or when authentication failed or has to be redone.",
            .timeLimit(.minutes(5)))
        func authentication() async throws {
            let shared = try SharedPlatform.current()
            let good = Client(shared.platform.uri, token: try shared.authenticationToken)
            #expect(try await good.authentication().status == .ok)
            let bad = Client(shared.platform.uri, token: try shared.publishingToken + "x")
            #expect(try await bad.authentication().status == .unauthorized)
            for client in [good, bad] { await client.pcast.shutdown() }
        }

        @Test(
            "Upon successful authentication, the authenticationCallback will be called with status=PhenixRequestStatusOk.",
            .timeLimit(.minutes(5)))
        func ok() async throws {
            let shared = try SharedPlatform.current()
            let client = Client(shared.platform.uri, token: try shared.authenticationToken)
            #expect(try await client.authentication().status == .ok)
            await client.pcast.shutdown()
        }

        @Test("PhenixRequestStatusOk: Authentication succeeded, the sessionId is populated", .timeLimit(.minutes(5)))
        func session() async throws {
            let shared = try SharedPlatform.current()
            let client = Client(shared.platform.uri, token: try shared.authenticationToken)
            let session = try await client.authentication().session
            #expect(session != nil)
            #expect(client.pcast.sessionID == session)
            await client.pcast.shutdown()
        }

        @Test(
            "PhenixRequestStatusUnauthorized: Authentication failed or re-authentication required",
            .timeLimit(.minutes(5)))
        func unauthorized() async throws {
            let shared = try SharedPlatform.current()
            let expired = try shared.token(lifetime: .seconds(-1)) { $0.forAuthenticationOnly() }
            let client = Client(shared.platform.uri, token: expired)
            let received = try await client.authentication()
            #expect(received.status == .unauthorized)
            #expect(received.session == nil)
            // Another token is sufficient.
            let session = try await client.pcast.start(authenticationToken: try shared.authenticationToken)
            #expect(client.pcast.sessionID == session)
            await client.pcast.shutdown()
        }

        @Test("varies: Authentication failed for other reasons", .timeLimit(.minutes(5)))
        func varies() async throws {
            let shared = try SharedPlatform.current()
            let nowhere = Client("http://127.0.0.1:1", token: try shared.authenticationToken)
            #expect(try await nowhere.authentication().status == .failed)
            let noAddress = Client("nowhere", token: try shared.authenticationToken)
            #expect(try await noAddress.authentication().status == .badRequest)
        }

        @Test("Called when the client is connected to the streaming platform", .timeLimit(.minutes(5)))
        func online() async throws {
            let shared = try SharedPlatform.current()
            let client = Client(shared.platform.uri, token: try shared.authenticationToken)
            #expect(await client.isNotified { $0 == .online } != nil)
            #expect(client.received.values.first { $0 == .offline } == nil)
            await client.pcast.shutdown()
        }

        @Test(
            "If at any time a new authenticationToken is required, then the authenticationCallback is called with status=PhenixRequestStatusUnauthorized to indicate that we are no longer authenticated.",
            .timeLimit(.minutes(5)))
        func laterUnauthorized() async throws {
            let token = try SharedPlatform.current().authenticationToken
            try await TestWorkspace.run { workspace in
                let (platform, port) = try await ChosenPort.find { port in
                    try await Self.serve(LocalPlatform.application, port: port, in: workspace).map { ($0, port) }
                }
                let client = Client("http://127.0.0.1:\(port)", token: token)
                #expect(try await client.authentication().status == .ok)
                platform.send(SIGKILL)
                try await platform.exitStatus()
                // The platform that comes back has another secret.
                let id = LocalPlatform.application.prefix { $0 != ":" }
                _ = try #require(try await Self.serve("\(id):another-secret", port: port, in: workspace))
                #expect(try await client.authentication { $0 != .ok }.status == .unauthorized)
                #expect(client.pcast.sessionID == nil)
                await client.pcast.shutdown()
            }
        }

        /// Starts a platform; nil if another socket has the port.
        private static func serve(
            _ application: String, port: Int, in workspace: TestWorkspace
        ) async throws -> RunningProgram? {
            let program = try workspace.pcast(
                "serve", "--listen", "127.0.0.1:\(port)", "--rtc-port", "0", "--application", application)
            return try await program.listens() == nil ? nil : program
        }

        @Test(
            "Called when the client is disconnected from the streaming platform.",
            .enabled(if: ThisMachine.hasPython), .timeLimit(.minutes(5)))
        func offline() async throws {
            let shared = try SharedPlatform.current()
            let gate = try await Gate.start(to: shared.platform)
            let client = Client(gate.uri, token: try shared.authenticationToken)
            #expect(await client.isNotified { $0 == .online } != nil)
            try await gate.shut()
            #expect(await client.isNotified { $0 == .offline } != nil)
            await client.pcast.shutdown()
        }

        @Test(
            "Ongoing streams may continue while we are temporarily disconnected.",
            .enabled(if: ThisMachine.hasPython), .timeLimit(.minutes(5)))
        func ongoing() async throws {
            let shared = try SharedPlatform.current()
            let gate = try await Gate.start(to: shared.platform)
            let client = Client(gate.uri, token: try shared.authenticationToken)
            #expect(try await client.authentication().status == .ok)
            let published = try await shared.publish(hasSlice: true)
            let watched = try await shared.watch(published.publisher.streamID, by: client.pcast)
            let renderer = watched.stream.createRenderer(.nullDevices)
            #expect(renderer.start() == .ok)
            #expect(await renderer.firstFrame != nil)
            try await gate.shut()
            #expect(await client.isNotified { $0 == .offline } != nil)
            let shown = await renderer.summary().framesRendered
            for await figures in renderer.statistics where figures.framesRendered > shown + 30 { break }
            #expect(watched.stream.endedInfo == nil)
            await watched.close()
            await published.close()
        }

        @Test(
            "However, no new streams can be started while being disconnected.",
            .enabled(if: ThisMachine.hasPython), .timeLimit(.minutes(5)))
        func noNewStreams() async throws {
            let shared = try SharedPlatform.current()
            let gate = try await Gate.start(to: shared.platform)
            let client = Client(gate.uri, token: try shared.authenticationToken)
            #expect(await client.isNotified { $0 == .online } != nil)
            try await gate.shut()
            #expect(await client.isNotified { $0 == .offline } != nil)
            await #expect {
                try await client.pcast.subscribe(streamToken: try shared.token { $0.forStreamingOnly() })
            } throws: { ($0 as? PCastError)?.status == .notReady }
            await #expect {
                try await shared.publish(by: client.pcast)
            } throws: { ($0 as? PCastError)?.status == .notReady }
            await client.pcast.shutdown()
        }

        @Test(
            "The client automatically tries to reconnect and will call onlineCallback when it succeeds in doing so or eventually call authenticationCallback to indicate that re-authentication is required.",
            .enabled(if: ThisMachine.hasPython), .timeLimit(.minutes(5)))
        func reconnects() async throws {
            let shared = try SharedPlatform.current()
            let gate = try await Gate.start(to: shared.platform)
            let client = Client(gate.uri, token: try shared.authenticationToken)
            #expect(await client.isNotified { $0 == .online } != nil)
            let session = client.pcast.sessionID
            try await gate.shut()
            #expect(await client.isNotified { $0 == .offline } != nil)
            try await gate.open()
            let received = client.received
            #expect(await client.isNotified { $0 == .online && received.values.count { $0 == .online } == 2 } != nil)
            #expect(client.pcast.sessionID == session)
            // The session can be used.
            let published = try await shared.publish(by: client.pcast)
            await published.close()
        }
    }
}
