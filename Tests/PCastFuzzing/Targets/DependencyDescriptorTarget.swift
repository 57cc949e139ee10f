import PCastCore
import PCastRTP

/// Dependency descriptors of one sender, as an SFU reads them: chunks, each of which is the header extension of a packet.
enum DependencyDescriptorTarget {
    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        var input = FuzzInput(bytes)
        var reader = LayerReader()
        var isRead = false
        let payload: [UInt8] = [1, 2, 3]
        while !input.isAtEnd {
            let chunk = input.chunk()
            let before = reader.structure
            let layers = payload.withByteView { payload in
                chunk.withByteView { reader.read(.av1, payload: payload, descriptor: $0) }
            }
            if layers.isKnown {
                isRead = true
                try check(layers.point.spatial < 4 && layers.point.temporal < 8, "layers that do not exist")
            }
            guard let structure = reader.structure else { continue }
            try check((1...32).contains(structure.targetCount), "\(structure.targetCount) decode targets")
            try check((1...64).contains(structure.templates.count), "\(structure.templates.count) templates")
            try check(structure.layers.count == structure.targetCount, "decode targets without layers")
            try check((0...32).contains(structure.chainCount), "\(structure.chainCount) chains")
            let all = structure.allTargets
            for template in structure.templates {
                try check(template.targets & ~all == 0, "a template of an unknown decode target")
                try check(template.switchTargets & ~template.targets == 0, "a switch without the decode target")
            }
            if before != nil, let point = reader.activePoint {
                try check(point.spatial < 4 && point.temporal < 8, "active layers that do not exist")
            }
        }
        return isRead
    }

    static let corpus: [[UInt8]] = [
        // The structure of the mode L2T2_KEY, frames by its templates, and other active decode targets.
        FuzzInput.chunks([keyFrame, [0xC3, 0, 8], [0xC2, 0, 9], [0xC5, 0, 10], [0xC1, 0, 11], [0xC4, 0, 13]]),
        FuzzInput.chunks([keyFrame, hexadecimal("c2012c7b90a531990060")]),
    ]

    private static let keyFrame = hexadecimal("c000078003187aaa0100a0a014d1413451802190888a19404fc02cc09fc059c0")
}
