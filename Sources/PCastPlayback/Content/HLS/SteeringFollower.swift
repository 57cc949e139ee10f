internal import Foundation
internal import PCastCore
internal import PCastHLS
internal import PCastIO
internal import Synchronization

/// Asks a steering server which pathway to take (`PathwaySteering` says when), for a presentation.
final class SteeringFollower: Sendable {
    private let machine: Mutex<PathwaySteering>
    private let fetcher: HLSFetcher
    private let changed: @Sendable () -> Void
    private let changes = ChangeSignal()
    private let task = Mutex<Task<Void, Never>?>(nil)

    /// - Parameter changed: called when the order is another, from any thread.
    init(_ steering: HLSPresentation.Steering, fetcher: HLSFetcher, changed: @escaping @Sendable () -> Void) {
        (self.fetcher, self.changed) = (fetcher, changed)
        machine = Mutex(
            PathwaySteering(
                server: steering.server, initial: steering.initial, pathways: steering.pathways,
                at: MonotonicClock.now()))
        let following = Task { await self.follow() }
        task.withLock { $0 = following }
    }

    func stop() { task.withLock { $0?.cancel() } }

    /// The pathways, the one to be taken first.
    var order: [String] { machine.withLock { $0.order } }

    /// Something of a pathway could not be had.
    ///
    /// - Returns: whether another is to be taken now.
    func failed(_ pathway: String) -> Bool { handle(.pathwayFailed(pathway)) }

    func measured(_ bitrate: Bitrate) { _ = handle(.measured(bitrate)) }

    private func handle(_ input: PathwaySteering.Input) -> Bool {
        let isAnother = machine.withLock { machine in
            let first = machine.order.first
            machine.handle(input, at: MonotonicClock.now())
            return machine.order.first != first
        }
        changes.raise()
        if isAnother { changed() }
        return isAnother
    }

    private func follow() async {
        while !Task.isCancelled {
            let count = changes.count
            let (output, deadline, isAnother) = machine.withLock { machine in
                let first = machine.order.first
                machine.advance(to: MonotonicClock.now())
                return (machine.poll(), machine.deadline, machine.order.first != first)
            }
            if isAnother { changed() }
            if case .load(let request)? = output {
                _ = handle(await load(request))
                continue
            }
            let alarm = deadline.map { deadline in
                Task { [changes] in
                    let pause = max(deadline - MonotonicClock.now(), .zero)
                    if (try? await Task.sleep(for: pause.duration)) != nil { changes.raise() }
                }
            }
            await changes.wait(since: count)
            alarm?.cancel()
        }
    }

    private func load(_ request: PathwaySteering.Request) async -> PathwaySteering.Input {
        do throws(LoadFailure) {
            let (bytes, base) = try await fetcher.get(request.uri, limit: SteeringManifest.sizeLimit)
            guard let manifest = SteeringManifest(json: bytes) else {
                return .failed(id: request.id, .unreachable)
            }
            return .loaded(id: request.id, manifest, from: base)
        } catch { return .failed(id: request.id, error.failure) }
    }
}

extension SteeringManifest {
    /// Nil for what is none, or of a version that is not known.
    init?(json bytes: [UInt8]) {
        struct Text: Decodable {
            var version: Int
            var timeToLive: Double?
            var reloadURI: String?
            var priority: [String]

            enum CodingKeys: String, CodingKey {
                case version = "VERSION"
                case timeToLive = "TTL"
                case reloadURI = "RELOAD-URI"
                case priority = "PATHWAY-PRIORITY"
            }
        }
        guard let text = try? JSONDecoder().decode(Text.self, from: Data(bytes)), text.version == Self.version,
            text.priority.count <= Self.pathwayLimit
        else { return nil }
        let seconds = text.timeToLive.map { min(max($0, 0), 86_400) }
        self.init(
            timeToLive: seconds.map { TimeSpan(seconds: $0) } ?? Self.usualTimeToLive, reloadURI: text.reloadURI,
            priority: text.priority)
    }
}
