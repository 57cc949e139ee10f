import Foundation
import PCast
import PCastCore
import PCastJSON

/// A run of `pcast channel`.
struct ChannelRun: Sendable {
    private let alias: String
    private let screenName: String
    private let uri: String?
    private let tokens: [String]
    private let duration: TimeSpan?
    private let role: RunOutcome.Role
    private let client: ClientRun

    private var console: Console { client.console }

    /// The maximum number of lines of standard input that wait. Reading waits while there are more.
    private static let backlog = 64

    init(
        _ alias: String, as screenName: String, at platform: PlatformOptions, role: RunOutcome.Role, _ console: Console
    ) {
        (self.alias, self.screenName, self.role) = (alias, screenName, role)
        (uri, tokens, duration) = (platform.uri, platform.token, platform.duration?.span)
        client = ClientRun(as: role, console)
    }

    // MARK: Runs

    /// Views the channel until the run ends.
    ///
    /// - Throws: ``CommandFailure`` unless it ended as requested.
    func view(on target: RenderArgument, _ selection: PresenterSelection) async throws {
        let showing = try await DisplayTarget.open(target, title: "PCast: \(alias)")
        if showing?.coversTerminal == true { console.holdMessages() }
        defer {
            showing?.close()
            console.releaseMessages()
        }
        try await run { channel, token in
            try await channel.join(screenName: screenName, selection: selection) { () throws(PCastError) in token }
            report(channel.room)
            return await withTaskGroup { group in
                group.addTask { await reportPresenter(of: channel) }
                group.addTask { await render(channel, on: showing) }
                group.addTask { await follow(channel.room) }
                group.addTask { await client.elapse(duration) }
                if let showing {
                    group.addTask { await showing.follow { if case .quit = $0 { client.end.end(.interrupted) } } }
                }
                let cause = await client.end.wait()
                group.cancelAll()
                return cause
            }
        }
    }

    /// Publishes a stream until the run ends.
    ///
    /// - Throws: ``CommandFailure`` unless it ended as requested.
    func publish(_ options: UserMediaOptions, _ encoding: PublishOptions) async throws {
        try await run { channel, token in
            let media = try await channel.room.pcast.getUserMedia(options)
            defer { media.stop() }
            let publication = try await channel.publish(
                media.mediaStream, screenName: screenName, options: encoding,
                recovering: ClientRun.policy(noReconnect: false)
            ) { () throws(PCastError) in token }
            report(channel.room)
            let cause = await withTaskGroup { group in
                group.addTask {
                    await client.follow(publication.publisher, as: ClientRun.policy(noReconnect: false)) { publisher in
                        console.event("publishing", ["streamId": .string(publisher.streamID.description)])
                        console.inform(
                            "Publishing the stream \(publisher.streamID) in the channel. Press Ctrl-C to stop.")
                    }
                }
                group.addTask { await follow(channel.room) }
                group.addTask { await client.elapse(duration) }
                let cause = await client.end.wait()
                group.cancelAll()
                return cause
            }
            await publication.stop()
            return cause
        }
    }

    /// Shows the conversation, and sends the lines of standard input until it ends.
    ///
    /// - Throws: ``CommandFailure`` unless it ended as requested.
    func chat(history: Int) async throws {
        try await run { channel, _ in
            try await channel.room.join(as: .audience, screenName: screenName)
            report(channel.room)
            let messages = try await channel.room.messages(history: history)
            return await withTaskGroup { group in
                group.addTask {
                    for await message in messages { report(message) }
                }
                group.addTask {
                    for await line in Self.lines() { await send(line, in: channel.room) }
                    if !Task.isCancelled { client.end.end(.elapsed) }
                }
                group.addTask { await follow(channel.room) }
                group.addTask { await client.elapse(duration) }
                let cause = await client.end.wait()
                group.cancelAll()
                return cause
            }
        }
    }

    /// Runs `body` with the channel and the token of its stream.
    private func run(_ body: (Channel, _ streamToken: String) async throws -> RunEnd.Cause) async throws {
        try await client.run {
            let (target, pair) = try target()
            return try await client.withClient(at: target) { pcast in
                _ = try await client.settingUp(pcast) { () throws(PCastError) in
                    try await pcast.start(authenticationToken: pair.authentication)
                }
                let channel = pcast.channel(alias)
                let cause = try await body(channel, pair.stream)
                await channel.leave()
                return cause
            }
        }
    }

    /// Returns the platform and the tokens. For a platform of this user on this host, they are created.
    private func target() throws -> (uri: String?, tokens: TokenPair) {
        let named = uri ?? tokens.lazy.compactMap { TokenPair.field("uri", of: $0) }.first
        let running = LocalCredentialsFile.running(in: .standard())
        if tokens.isEmpty, let local = running.first(where: { named == nil || $0.isOf(uri: named) }) {
            let application = ApplicationTokens(application: local.application)
            let stream = role == .publisher ? try application.publishing() : try application.following()
            return (local.uri, TokenPair(authentication: try application.authentication(), stream: stream))
        }
        guard let named else {
            guard let local = running.first else { throw RemoteRun.missing(at: nil) }
            return (local.uri, try TokenPair(tokens, isLocal: PlatformURI.isOnThisComputer(local.uri)))
        }
        let isLocal = try PlatformURI.isOnThisComputer(named)
        guard isLocal || !tokens.isEmpty else { throw CommandFailure.needsToken }
        return (uri, try TokenPair(tokens, isLocal: isLocal))
    }

    // MARK: Reports

    private func report(_ room: Room) {
        guard let info = room.info.value else { return }
        console.event("joined", ["channelId": .string(info.id), "alias": .string(info.alias)])
        console.inform("Joined the channel “\(info.alias)”.")
    }

    private func reportPresenter(of channel: Channel) async {
        var last: String?
        for await presenter in channel.presenter.values {
            let stream = presenter?.streams.first
            let isAudioMuted = stream.map { $0.audio != .enabled } ?? false
            let isVideoMuted = stream.map { $0.video != .enabled } ?? false
            let text = presenter.map { "\($0.screenName) presents" } ?? "Nobody presents"
            let muted = isAudioMuted ? isVideoMuted ? ", muted" : ", audio muted" : isVideoMuted ? ", video muted" : ""
            guard text + muted != last else { continue }
            last = text + muted
            console.event(
                "presenter",
                [
                    "screenName": .text(presenter?.screenName), "streamId": .text(stream?.streamID?.description),
                    "audioMuted": .boolean(isAudioMuted), "videoMuted": .boolean(isVideoMuted),
                ])
            console.inform("\(text)\(muted).")
        }
    }

    /// Renders one stream after another.
    private func render(_ channel: Channel, on showing: DisplayTarget?) async {
        var rendered: RenderedStream?
        for await stream in channel.stream.values {
            // The last frames of a stream that has ended are shown, unless another follows.
            if stream == nil, rendered?.stream.endedInfo != nil { await rendered?.renderer.stopped }
            rendered?.renderer.stop()
            // A stream that cannot be rendered has ended already. The next one follows.
            rendered = stream.flatMap { try? RenderedStream($0, at: showing, recording: nil) }
            guard let rendered else { continue }
            console.event("subscribed", ["streamId": .text(rendered.stream.streamID?.description)])
        }
        rendered?.renderer.stop()
    }

    /// Ends the run when the client is no member any more.
    private func follow(_ room: Room) async {
        for await status in room.status.values {
            switch status {
            case .ended:
                console.warn("The channel has ended.")
                client.end.end(.elapsed)
            case .left:
                if !Task.isCancelled { client.end.end(.session(.gone)) }
            case .joined, .reconnecting: break
            }
        }
    }

    private func report(_ message: RoomMessage) {
        console.event(
            "message",
            [
                "id": .string(message.id), "screenName": .string(message.screenName), "text": .string(message.text),
                "time": .string(message.time.timestampText),
            ])
        console.result("\(message.screenName): \(message.text)")
    }

    private func send(_ line: String, in room: Room) async {
        guard !line.isEmpty else { return }
        do throws(PCastError) {
            try await room.send(line)
        } catch {
            console.warn("The message was not sent: \(error).")
        }
    }

    /// Returns the lines of standard input. Reading blocks, so it has its own thread, which lasts as long as the program.
    private static func lines() -> AsyncStream<String> {
        let (lines, reader) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingOldest(backlog))
        Thread.detachNewThread {
            while let line = readLine() {
                // A full buffer drops the line, so it is offered again.
                while case .dropped = reader.yield(line) { Thread.sleep(forTimeInterval: 0.05) }
            }
            reader.finish()
        }
        return lines
    }
}
