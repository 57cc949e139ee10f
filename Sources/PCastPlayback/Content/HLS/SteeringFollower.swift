internal import Foundation
internal import PCastCore
package import PCastHLS
internal import PCastIO
internal import Synchronization

/// Requests steering manifests for a presentation. `PathwaySteering` schedules the requests.
final class SteeringFollower: Sendable {
    private let machine: Mutex<PathwaySteering>
    private let fetcher: HLSFetcher
    private let listeners = Mutex<[ObjectIdentifier: ChangeSignal]>([:])
    private let changes = ChangeSignal()
    private let task = Mutex<Task<Void, Never>?>(nil)

    /// Creates a follower, which begins to request.
    init(_ steering: HLSPresentation.Steering, fetcher: HLSFetcher) {
        self.fetcher = fetcher
        machine = Mutex(
            PathwaySteering(
                server: steering.server, initial: steering.initial, pathways: steering.pathways,
                at: MonotonicClock.now()))
        let following = Task { await self.follow() }
        task.withLock { $0 = following }
    }

    /// Ends all requests.
    func stop() { task.withLock { $0?.cancel() } }

    /// Raises a signal after each change of the order, until ``unfollow(_:)``.
    func follow(_ signal: ChangeSignal) { listeners.withLock { $0[ObjectIdentifier(signal)] = signal } }

    func unfollow(_ signal: ChangeSignal) { listeners.withLock { $0[ObjectIdentifier(signal)] = nil } }

    private func changed() { for signal in listeners.withLock({ Array($0.values) }) { signal.raise() } }

    /// The pathways that the server has cloned.
    var clones: [PathwayClone] { machine.withLock { $0.clones } }

    /// The pathways in descending order of preference.
    var order: [String] { machine.withLock { $0.order } }

    /// Records that a resource of a pathway failed. Returns whether another pathway is now preferred.
    func failed(_ pathway: String) -> Bool { handle(.pathwayFailed(pathway)) }

    /// Records the measured throughput.
    func measured(_ bitrate: Bitrate) { _ = handle(.measured(bitrate)) }

    /// Handles an input of the state machine. Returns whether another pathway is now preferred.
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

    /// Runs the schedule of requests until it is stopped.
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

    /// Loads a steering manifest.
    private func load(_ request: PathwaySteering.Request) async -> PathwaySteering.Input {
        do throws(LoadFailure) {
            let (bytes, base) = try await fetcher.get(request.uri, limit: SteeringManifest.sizeLimit)
            guard var manifest = SteeringManifest(json: bytes) else {
                return .failed(id: request.id, .unreachable)
            }
            // The manifest of a server must not refer to files of this machine.
            let document = URIReference(base)
            manifest.reloadURI = manifest.reloadURI.map { document.address(of: $0) }
            for index in manifest.clones.indices {
                manifest.clones[index].variantURIs = manifest.clones[index].variantURIs.mapValues {
                    document.address(of: $0)
                }
                manifest.clones[index].renditionURIs = manifest.clones[index].renditionURIs.mapValues {
                    document.address(of: $0)
                }
            }
            return .loaded(id: request.id, manifest, from: base)
        } catch { return .failed(id: request.id, error.failure) }
    }
}

extension SteeringManifest {
    /// Parses a steering manifest; nil if it is not valid or has an unknown version. Clones that cannot be used are left
    /// out.
    package init?(json bytes: [UInt8]) {
        struct Replacement: Decodable {
            var host: String?
            var parameters: [String: String]?
            var variants: [String: String]?
            var renditions: [String: String]?

            enum CodingKeys: String, CodingKey {
                case host = "HOST"
                case parameters = "PARAMS"
                case variants = "PER-VARIANT-URIS"
                case renditions = "PER-RENDITION-URIS"
            }
        }
        struct Clone: Decodable {
            var base: String
            var id: String
            var replacement: Replacement

            enum CodingKeys: String, CodingKey {
                case base = "BASE-ID"
                case id = "ID"
                case replacement = "URI-REPLACEMENT"
            }

            /// The clone; nil if it cannot be used.
            var clone: PathwayClone? {
                let counts = [
                    replacement.parameters?.count, replacement.variants?.count, replacement.renditions?.count,
                ]
                guard counts.allSatisfy({ $0 ?? 0 <= PathwayClone.limit }) else { return nil }
                let clone = PathwayClone(
                    base: base, id: id, host: replacement.host, parameters: replacement.parameters ?? [:],
                    variantURIs: replacement.variants ?? [:], renditionURIs: replacement.renditions ?? [:])
                return clone.isValid ? clone : nil
            }
        }
        struct Text: Decodable {
            var version: Int
            var timeToLive: Double?
            var reloadURI: String?
            var priority: [String]
            var clones: [Clone]?

            enum CodingKeys: String, CodingKey {
                case version = "VERSION"
                case timeToLive = "TTL"
                case reloadURI = "RELOAD-URI"
                case priority = "PATHWAY-PRIORITY"
                case clones = "PATHWAY-CLONES"
            }
        }
        guard let text = try? JSONDecoder().decode(Text.self, from: Data(bytes)), text.version == Self.version,
            text.priority.count <= Self.pathwayLimit, text.clones?.count ?? 0 <= PathwayClone.limit
        else { return nil }
        let seconds = text.timeToLive.map { min(max($0, 0), 86_400) }
        self.init(
            timeToLive: seconds.map { TimeSpan(seconds: $0) } ?? Self.defaultTimeToLive, reloadURI: text.reloadURI,
            priority: text.priority, clones: (text.clones ?? []).compactMap(\.clone))
    }
}
