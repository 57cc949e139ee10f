import Foundation
import PCast
import PCastCore
import Synchronization
import Testing

extension EndToEnd {
    /// A room of two platforms, each its own process, whose directory is in NATS.
    @Suite("Rooms of a cluster", .enabled(if: ThisMachine.hasNATS), .timeLimit(.minutes(5)))
    struct ClusterRoomTests {
        private static let alias = "demo"

        /// A directory in NATS, and the platforms that share it.
        private struct TestCluster {
            let workspace: TestWorkspace
            private let directory: String
            private static let secret = "the secret of this cluster"

            /// Starts NATS on a port that is free.
            static func start(in workspace: TestWorkspace) async throws -> TestCluster {
                let program = try #require(BuiltProgram.installed("nats-server"))
                return try await ChosenPort.find { port -> TestCluster? in
                    let server = try workspace.start(
                        program,
                        [
                            "--addr", "127.0.0.1", "--port", "\(port)", "--jetstream", "--store_dir",
                            workspace.path("nats-\(port)"),
                        ])
                    let line = await server.messages.lines.first { $0.contains("Server is ready") }
                    guard line != nil else {
                        // It ends if the port is in use.
                        guard server.isRunning else { return nil }
                        throw EndToEndFailure("NATS does not start\n\(server.report)")
                    }
                    return TestCluster(workspace: workspace, directory: "nats://127.0.0.1:\(port)")
                }
            }

            /// Starts a node; nil if the port is in use.
            func start(_ node: String, port: Int = 0) async throws -> LocalPlatform? {
                let program = try workspace.pcast(
                    "serve", "--listen", "127.0.0.1:\(port)", "--rtc-port", "0", "--application",
                    LocalPlatform.application, "--cluster", directory, "--node", node, "--member-timeout", "3s",
                    variables: ["PCAST_SERVE_CLUSTER_SECRET": Self.secret])
                guard let listening = try await program.listens(), let uri = listening["uri"].text else { return nil }
                return LocalPlatform(program, uri: uri, in: workspace)
            }

            /// Waits until a node knows the names of exactly these nodes.
            func awaitNodes(_ names: Set<String>, at platform: LocalPlatform) async throws {
                let end = ContinuousClock.now + .timeout
                while true {
                    let body = try await workspace.run(
                        "curl", ["-fsS", "--user", LocalPlatform.application, platform.uri + "/pcast/nodes"]
                    ).output.joined()
                    let answer = try #require(JSON(line: body))
                    if case .list(let nodes) = answer["nodes"], Set(nodes.compactMap { $0["name"].text }) == names,
                        nodes.allSatisfy({ $0["address"].text?.isEmpty == false })
                    {
                        return
                    }
                    guard ContinuousClock.now < end else {
                        throw EndToEndFailure("the nodes are \(body), not \(names)\n\(platform.program.report)")
                    }
                    try await ContinuousClock().sleep(for: .milliseconds(50))
                }
            }
        }

        /// A member of the room with all that it has received.
        private final class Member: Sendable {
            let name: String
            let pcast: PCast
            let channel: Channel
            /// The members as they were after each event, by their sessions.
            let members = Awaited<Set<RoomMember>>()
            let statuses = Awaited<Room.Status>()
            private let following = Mutex<[Task<Void, Never>]>([])

            var room: Room { channel.room }

            private init(_ name: String, _ pcast: PCast) {
                self.name = name
                self.pcast = pcast
                channel = pcast.channel(ClusterRoomTests.alias)
            }

            /// Connects to a node.
            static func connect(_ name: String, to platform: LocalPlatform) async throws -> Member {
                let pcast = PCast(PCastOptions(uri: platform.uri))
                _ = try await pcast.start(authenticationToken: try await platform.authenticationToken())
                let member = Member(name, pcast)
                let (members, statuses) = (member.room.members.values, member.room.status.values)
                member.following.withLock { tasks in
                    tasks.append(
                        Task { [list = member.members] in for await value in members { list.add(Set(value)) } })
                    tasks.append(Task { [list = member.statuses] in for await value in statuses { list.add(value) } })
                }
                return member
            }

            /// Waits until the room has exactly the members with these names.
            func sees(_ names: Set<String>) async throws {
                let found = await members.first(after: 0) { [weak self] _ in
                    Set(self?.room.members.value.map(\.screenName) ?? []) == names
                }
                guard found != nil else {
                    let last = room.members.value.map(\.screenName)
                    throw EndToEndFailure("\(name) sees \(last), not \(names); it is \(room.status.value)")
                }
            }

            /// Returns the states of the members since one of them.
            func history(since state: Set<RoomMember>) -> [Set<RoomMember>] {
                Array(members.values.drop { $0 != state })
            }

            /// Sends a message.
            func send(_ text: String) async throws {
                try await repeating { () async throws(PCastError) in try await room.send(text) }
            }

            /// Returns the messages from now on.
            func messages() async throws -> AsyncStream<RoomMessage> {
                try await repeating { () async throws(PCastError) in try await room.messages() }
            }

            /// Makes a request, again while the home of the room is unknown.
            private func repeating<Value: Sendable>(
                _ request: () async throws(PCastError) -> Value
            ) async throws -> Value {
                let end = ContinuousClock.now + .timeout
                while true {
                    do throws(PCastError) { return try await request() } catch {
                        guard ContinuousClock.now < end else { throw error }
                        try await ContinuousClock().sleep(for: .milliseconds(600))
                    }
                }
            }

            func close() async {
                await channel.leave()
                await pcast.shutdown()
                for task in following.withLock({ $0 }) { task.cancel() }
            }
        }

        /// The messages that members receive from now on.
        private struct Conversation {
            private let received: [(name: String, texts: Awaited<String>)]
            private let tasks: [Task<Void, Never>]

            static func follow(_ members: [Member]) async throws -> Conversation {
                var received: [(name: String, texts: Awaited<String>)] = []
                var tasks: [Task<Void, Never>] = []
                for member in members {
                    let (messages, texts) = (try await member.messages(), Awaited<String>())
                    tasks.append(Task { for await message in messages { texts.add("\(message.id) \(message.text)") } })
                    received.append((member.name, texts))
                }
                return Conversation(received: received, tasks: tasks)
            }

            /// Lets each member say something at the same time, and expects that all receive all of it in the same order.
            func expectOrder(_ members: [Member], _ word: String, rounds: Int = 3) async throws {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for member in members {
                        group.addTask {
                            for round in 0..<rounds { try await member.send("\(word) \(member.name) \(round)") }
                        }
                    }
                    try await group.waitForAll()
                }
                // A message whose answer was lost may have been sent twice.
                try await members[0].send("\(word) end")
                for (name, texts) in received {
                    let last = await texts.first { $0.hasSuffix("\(word) end") }
                    try #require(last != nil, "\(name) receives \(texts.values)")
                }
                let all = received.map(\.texts.values)
                for texts in all { #expect(texts == all[0]) }
                for member in members {
                    for round in 0..<rounds {
                        #expect(all[0].contains { $0.hasSuffix("\(word) \(member.name) \(round)") })
                    }
                }
            }

            func end() { for task in tasks { task.cancel() } }
        }

        /// Waits until a renderer has displayed further frames.
        private static func displaysMore(_ renderer: Renderer, _ count: Int = 30) async throws {
            var first: Int?
            for await statistics in renderer.statistics {
                let start = first ?? statistics.framesRendered
                first = start
                if statistics.framesRendered >= start + count { return }
            }
            throw EndToEndFailure("the viewer's stream has ended")
        }

        @Test(
            "when the home of a room is killed, members at the other node continue with their media, and it may return")
        func homeKilled() async throws {
            try await TestWorkspace.run { workspace in
                let cluster = try await TestCluster.start(in: workspace)
                let (home, port) = try await ChosenPort.find { port in
                    try await cluster.start("a", port: port).map { ($0, port) }
                }
                let other = try #require(await cluster.start("b"))
                try await cluster.awaitNodes(["a", "b"], at: home)
                try await cluster.awaitNodes(["a", "b"], at: other)

                // The room is created at the first node, which is its home.
                let one = try await Member.connect("one", to: home)
                try await one.room.join(as: .participant, screenName: "one")
                let two = try await Member.connect("two", to: other)
                try await two.room.join(as: .participant, screenName: "two")
                let presenter = try await Member.connect("presenter", to: other)
                let media = try await presenter.pcast.getUserMedia(
                    UserMediaOptions(videoSource: "synthetic", audioSource: "synthetic"))
                let publishing = try await other.publishingToken()
                let publication = try await presenter.channel.publish(
                    media.mediaStream, screenName: "presenter", streamToken: { () throws(PCastError) in publishing })
                let viewing = try await workspace.token(LocalPlatform.application, "--type", "stream")
                let viewer = try await Member.connect("viewer", to: other)
                try await viewer.channel.join(
                    screenName: "viewer", streamToken: { () throws(PCastError) in viewing })
                let listed = [one, two, presenter]
                for member in listed + [viewer] { try await member.sees(["one", "two", "presenter"]) }
                let shown = await Self.first(of: viewer.channel.stream)
                let stream = try #require(shown)
                let renderer = stream.createRenderer(.nullDevices)
                try renderer.start()
                try await Self.displaysMore(renderer)

                // All change themselves at the same time.
                let start = Set(viewer.room.members.value)
                for member in listed {
                    let isThere = await member.members.first { $0 == start } != nil
                    try #require(isThere, "\(member.name) sees \(member.room.members.value)")
                }
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for member in listed {
                        group.addTask {
                            for round in 0..<6 {
                                try await member.room.update(state: round.isMultiple(of: 2) ? .handRaised : .active)
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                try await Self.expectSameEvents(listed + [viewer], since: start, count: 3 * 6)
                let before = try await Conversation.follow(listed + [viewer])
                try await before.expectOrder(listed, "before")
                before.end()

                home.program.send(SIGKILL)
                try await home.program.exitStatus()
                let during = try await Conversation.follow([two, presenter, viewer])
                try await during.expectOrder([two, presenter], "during")
                for member in [two, presenter, viewer] { try await member.sees(["two", "presenter"]) }
                try await Self.displaysMore(renderer)
                #expect(stream.endedInfo == nil && viewer.channel.stream.value === stream)
                #expect(publication.publisher.current.value?.streamID != nil)
                for member in [two, presenter, viewer] {
                    #expect(member.statuses.values.last == .joined, "\(member.name)")
                    #expect(!member.statuses.values.contains(.reconnecting), "\(member.name)")
                }
                during.end()

                // The killed node returns, and its member with it.
                let again = try #require(await cluster.start("a", port: port), "the port is in use")
                try await cluster.awaitNodes(["a", "b"], at: again)
                let hasEntered = await one.statuses.first { [one] _ in one.room.status.value == .joined } != nil
                try #require(hasEntered, "the member is \(one.room.status.value)")
                for member in listed + [viewer] { try await member.sees(["one", "two", "presenter"]) }
                let after = try await Conversation.follow(listed + [viewer])
                try await after.expectOrder(listed, "after")
                after.end()
                let states = listed.map { Set($0.room.members.value) }
                for state in states { #expect(state == states[0]) }
                try await Self.displaysMore(renderer)
                #expect(stream.endedInfo == nil && viewer.channel.stream.value === stream)

                renderer.stop()
                await publication.stop()
                media.stop()
                for member in [viewer, presenter, two, one] { await member.close() }
                for platform in [again, other] { try await platform.program.end() }
            }
        }

        /// Returns the first value that is not nil.
        private static func first(of stream: ObservableValue<MediaStream?>) async -> MediaStream? {
            for await value in stream.values { if let value { return value } }
            return nil
        }

        /// Expects that members received the same events in the same order since a state.
        private static func expectSameEvents(
            _ members: [Member], since start: Set<RoomMember>, count: Int
        ) async throws {
            for member in members {
                let last = await member.members.first { _ in member.history(since: start).count > count }
                try #require(last != nil, "\(member.name) received \(member.history(since: start).count) states")
            }
            let expected = members[0].history(since: start)
            #expect(expected.count == count + 1)
            for member in members { #expect(member.history(since: start) == expected) }
        }
    }
}
