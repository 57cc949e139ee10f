import PCastCore
import Testing

@testable import PCastDevices

/// Thousands of generated sets of devices. A failure reports its seed.
@Suite("Properties of the selection for generated devices and constraints")
struct ConstraintPropertyTests {
    private static let seeds: ClosedRange<UInt64> = 1...1_500

    private enum Outcome {
        case selection(VideoSelection)
        case failure(ConstraintFailure)
        case nothing
    }

    private func solve(_ devices: [SourceDevice], _ constraints: DeviceConstraints) -> Outcome {
        do {
            let selection = try ConstraintSolver.selectVideo(from: devices, constraints: constraints)
            return selection.map { .selection($0) } ?? .nothing
        } catch {
            return .failure(error)
        }
    }

    @Test("the selection is the best of all configurations by exhaustive search, and meets every required constraint")
    func best() throws {
        var count = (selections: 0, failures: 0, nothing: 0)
        for seed in Self.seeds {
            var cases = ConstraintCases(seed: seed)
            let oracle = ConstraintOracle(devices: cases.devices(), constraints: cases.constraints())
            let settings = oracle.settings()
            let feasible = settings.filter { oracle.unmetDemands($0).isEmpty }
            switch solve(oracle.devices, oracle.constraints) {
            case .selection(let selection):
                count.selections += 1
                let setting = try #require(oracle.setting(of: selection))
                #expect(settings.contains(setting), "seed \(seed): the device does not support it")
                #expect(oracle.unmetDemands(setting).isEmpty, "seed \(seed)")
                let best = feasible.map(oracle.key).min { $0.lexicographicallyPrecedes($1) }
                #expect(oracle.key(setting) == best, "seed \(seed): \(selection.explanation)")
                let received = selection.explanation.candidates[0].distance
                #expect(abs(received - oracle.distance(setting)) < 1e-9, "seed \(seed)")
                #expect(selection.unmet.isEmpty == (received == 0), "seed \(seed)")
            case .failure(let failure):
                count.failures += 1
                #expect(feasible.isEmpty, "seed \(seed): \(failure)")
            case .nothing:
                count.nothing += 1
                #expect(settings.isEmpty, "seed \(seed)")
            }
        }
        // The generated cases must be of every kind, because the test would verify nothing otherwise.
        #expect(count.selections > 500 && count.failures > 200 && count.nothing > 5)
    }

    @Test("the named constraint has the smallest distance, and is met by the reported nearest value")
    func relaxing() throws {
        var steps = 0
        for seed in Self.seeds {
            var cases = ConstraintCases(seed: seed)
            var oracle = ConstraintOracle(devices: cases.devices(), constraints: cases.constraints())
            while case .failure(let failure) = solve(oracle.devices, oracle.constraints) {
                let settings = oracle.settings()
                let fewest = settings.map { oracle.unmetDemands($0).count }.min() ?? 0
                if fewest == 1 {
                    let misses = settings.flatMap { setting -> [(DeviceConstraint, Double)] in
                        let unmet = oracle.unmetDemands(setting)
                        return unmet.count == 1 ? [(unmet[0].1, oracle.missed(unmet[0].0, unmet[0].1, setting))] : []
                    }
                    let least = try #require(misses.map(\.1).min())
                    let named = misses.filter { $0.0 == failure.constraint }.map(\.1).min()
                    #expect(named.map { abs($0 - least) < 1e-9 } == true, "seed \(seed): \(failure)")
                }
                let list = try #require(oracle.constraints[failure.capability])
                let index = try #require(list.firstIndex(of: failure.constraint), "seed \(seed): \(failure)")
                if let nearest = failure.nearest {
                    let value = try DeviceConstraint.Value(nearest, of: failure.capability)
                    oracle.constraints[failure.capability]?[index].value = value
                } else {
                    oracle.constraints[failure.capability]?.remove(at: index)
                }
                let left = oracle.settings().map { oracle.unmetDemands($0).count }.min() ?? 0
                #expect(left < fewest, "seed \(seed): \(failure)")
                guard left < fewest else { break }
                steps += 1
            }
        }
        #expect(steps > 250)
    }

    @Test("removing an ideal constraint worsens no other, and removing a required one keeps the rest possible")
    func monotonic() throws {
        var ideals = 0
        for seed in Self.seeds {
            var cases = ConstraintCases(seed: seed)
            let oracle = ConstraintOracle(devices: cases.devices(), constraints: cases.constraints())
            guard case .selection(let selection) = solve(oracle.devices, oracle.constraints) else { continue }
            let before = try #require(oracle.setting(of: selection))
            for (capability, list) in oracle.constraints {
                for index in list.indices {
                    var fewer = oracle
                    fewer.constraints[capability]?.remove(at: index)
                    guard case .selection(let other) = solve(fewer.devices, fewer.constraints) else {
                        Issue.record("seed \(seed): no solution without \(capability) \(list[index])")
                        continue
                    }
                    let after = try #require(fewer.setting(of: other))
                    guard list[index].kind == .ideal, fewer.key(after).prefix(2) == fewer.key(before).prefix(2) else {
                        continue
                    }
                    ideals += 1
                    #expect(fewer.distance(after) <= fewer.distance(before) + 1e-9, "seed \(seed)")
                }
            }
        }
        #expect(ideals > 300)
    }

    @Test("the order of devices and formats decides only between equals")
    func order() throws {
        for seed in Self.seeds {
            var cases = ConstraintCases(seed: seed)
            let oracle = ConstraintOracle(devices: cases.devices(), constraints: cases.constraints())
            var mixed = oracle.devices.shuffled(using: &cases)
            for index in mixed.indices {
                guard case .video(var capabilities) = mixed[index].capabilities else { continue }
                capabilities.formats.shuffle(using: &cases)
                mixed[index].capabilities = .video(capabilities)
            }
            switch (solve(oracle.devices, oracle.constraints), solve(mixed, oracle.constraints)) {
            case (.selection(let one), .selection(let other)):
                let (left, right) = (one.explanation.candidates[0], other.explanation.candidates[0])
                #expect(abs(left.distance - right.distance) < 1e-9, "seed \(seed)")
                #expect(one.device.info.deviceType == other.device.info.deviceType, "seed \(seed)")
                if one.device.info.id == other.device.info.id {
                    #expect(one.deliveredArea == other.deliveredArea, "seed \(seed)")
                    #expect(one.configuration.encoding == other.configuration.encoding, "seed \(seed)")
                }
            case (.failure, .failure), (.nothing, .nothing): break
            case let (one, other): Issue.record("seed \(seed): \(one) and \(other)")
            }
        }
    }

    @Test("an ideal rate in a range is met as precisely as possible, and no value suits several much better")
    func ranges() throws {
        for seed in Self.seeds {
            var cases = ConstraintCases(seed: seed)
            let ends = [Double.random(in: 1...120, using: &cases), .random(in: 1...120, using: &cases)].sorted()
            let format = CaptureFormat(
                encoding: .yuyv, sizes: .discrete(Dimensions(width: 640, height: 480)),
                rates: .range(slowest: FrameRate(near: ends[0]), fastest: FrameRate(near: ends[1]), isContinuous: true))
            let camera = ConstraintDevices.camera("c", "C", formats: [format])
            let ideals = (0..<Int.random(in: 1...3, using: &cases)).map { _ in
                (Double.random(in: 0.5...150, using: &cases) * 100).rounded() / 100
            }
            let constraints: DeviceConstraints = [.frameRate: ideals.map { .ideal($0) }]
            guard case .selection(let selection) = solve([camera], constraints) else {
                Issue.record("seed \(seed)")
                continue
            }
            func sum(_ rate: Double) -> Double {
                ideals.reduce(0) { $0 + abs(rate - $1) / max(rate, $1) }
            }
            let chosen = selection.configuration.frameRate.perSecond
            #expect((ends[0] * 0.999...ends[1] * 1.001).contains(chosen), "seed \(seed)")
            let grid = (0...200).map { ends[0] + (ends[1] - ends[0]) * Double($0) / 200 }
            let best = grid.map(sum).min()!
            #expect(sum(chosen) <= best + 0.01 * Double(ideals.count) + 1e-3, "seed \(seed)")
            if ideals.count == 1 {
                #expect(abs(sum(chosen) - sum(min(max(ideals[0], ends[0]), ends[1]))) < 0.011, "seed \(seed)")
            }
        }
    }
}

extension VideoSelection {
    fileprivate var deliveredArea: Int { deliveredDimensions.width * deliveredDimensions.height }
}
