import PCastCore
import PCastRendering
import PCastTestSupport
import Testing

@testable import PCastPlayback

@Suite("The order of events")
struct EventOrderTests {
    /// Performs a random event of a pipeline.
    private func happen(to script: ScriptedPipeline, _ generator: inout SeededGenerator) {
        switch Int.random(in: 0..<14, using: &generator) {
        case 0..<2: script.open(.film(Double(Int.random(in: 3...9, using: &generator))))
        case 2..<5: script.completeSeek()
        case 5..<8: script.run(Double(Int.random(in: 1...15, using: &generator)) / 10)
        case 8: script.starve()
        case 9: script.feed()
        case 10: script.end()
        case 11:
            script.notify(.landed(.seconds(1)), of: PlayheadEpoch(number: max(script.playhead.epoch.number - 1, 0)))
        case 12: script.notify(.subtitle(["a", "b", nil].randomElement(using: &generator) ?? nil))
        default:
            if Int.random(in: 0..<4, using: &generator) == 0 {
                script.notify(.failed(.brokeOff("x", reason: "chance")))
            }
        }
    }

    private func command(_ player: Player, _ generator: inout SeededGenerator) -> SeekRequest? {
        switch Int.random(in: 0..<24, using: &generator) {
        case 0..<5: player.play()
        case 5..<8: player.pause()
        case 8..<10: player.toggle()
        case 10: player.stop()
        case 11..<15:
            return player.startSeek(to: .milliseconds(Int64.random(in: -500...9_500, using: &generator)))
        case 15: player.resume(playing: Bool.random(using: &generator))
        case 16: player.advanceToNext()
        case 17: player.loop = Bool.random(using: &generator)
        case 18: player.autoAdvance = Bool.random(using: &generator)
        case 19: player.session?.terminate()
        case 20: player.insert(video(7), at: Int.random(in: -1...3, using: &generator))
        default:
            let videos = (0..<Int.random(in: 0...3, using: &generator)).map(video)
            player.set(videos: videos, index: 0, play: Bool.random(using: &generator))
        }
        return nil
    }

    private func video(_ number: Int) -> Video {
        Video(
            number == 2 ? "broken" : "\(number).mp4",
            cuePoints: [0, 1, 1, 4].map { CuePoint(type: "\($0)", at: .seconds($0)) } + [.afterContent()])
    }

    @Test("any order of commands and events causes consistent events", arguments: UInt64(1)...30)
    func anyOrder(seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        let scripts = ScriptedPipelines()
        let player = Player(scripts.factory)
        let evaluate = EventOrderChecker()
        player.addObserver(evaluate)
        player.add(evaluate)
        let other = EventOrderChecker()
        player.add(other)
        var events = player.events().makeAsyncIterator()
        var seeks: [SeekRequest] = []
        for _ in 0..<300 {
            if Bool.random(using: &generator), let script = scripts.all.randomElement(using: &generator) {
                happen(to: Bool.random(using: &generator) ? script : scripts.all.last ?? script, &generator)
            } else if let seek = command(player, &generator) {
                seeks.append(seek)
            }
            if Int.random(in: 0..<3, using: &generator) > 0 { await player.settled() }
            #expect(scripts.all.count { !$0.isStopped } <= 1)
        }
        player.reset()
        await player.settled()
        #expect(evaluate.complaints == [])
        #expect(other.complaints == [])
        #expect(scripts.all.allSatisfy(\.isStopped) && scripts.haveNeverOverlapped)
        #expect(player.state == .idle)
        // Each seek has ended.
        for seek in seeks { _ = try? await seek.reachedPosition }
        player.aspectMode = .fill
        let stream = EventOrderChecker()
        while let event = await events.next(), event.kind != .aspectModeChanged(.fill) { stream.evaluate(event) }
        #expect(stream.complaints == [])
    }

    @Test("commands of several threads have one order")
    func concurrently() async {
        let scripts = ScriptedPipelines()
        let player = Player(scripts.factory)
        let evaluate = EventOrderChecker()
        player.add(evaluate)
        await withTaskGroup(of: Void.self) { group in
            for seed in UInt64(1)...4 {
                group.addTask {
                    var generator = SeededGenerator(seed: seed)
                    for _ in 0..<300 {
                        if Bool.random(using: &generator), let script = scripts.all.last {
                            // Commands of the clock come only from the player.
                            switch Int.random(in: 0..<4, using: &generator) {
                            case 0: script.open(.film(5))
                            case 1: script.completeSeek()
                            case 2: script.run(0.3)
                            default: script.end()
                            }
                        } else {
                            _ = self.command(player, &generator)
                        }
                        await Task.yield()
                    }
                }
            }
        }
        player.reset()
        await player.settled()
        #expect(evaluate.complaints == [] && scripts.haveNeverOverlapped && scripts.all.allSatisfy(\.isStopped))
    }

    @Test("fifty players that loop through lists keep nothing of finished items")
    func scale() async throws {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    let scripts = ScriptedPipelines()
                    let player = Player(scripts.factory)
                    let evaluate = EventOrderChecker()
                    player.add(evaluate)
                    player.loop = true
                    player.set(videos: [self.video(0), self.video(1)], play: true)
                    var sessions: [WeakSession] = []
                    for _ in 0..<40 {
                        await player.settled()
                        if let session = player.session { sessions.append(WeakSession(value: session)) }
                        guard let script = scripts.all.last else { continue }
                        script.open(.film(5))
                        script.completeSeek()
                        script.run(1)
                        script.end()
                    }
                    await player.settled()
                    #expect(evaluate.complaints == [] && scripts.all.count == 41)
                    #expect(scripts.all.count { !$0.isStopped } == 1)
                    #expect(sessions.allSatisfy { $0.value == nil })
                }
            }
        }
    }

    private struct WeakSession: Sendable { weak let value: PlaybackSession? }
}
