/// Use of a category by an operation.
public struct CategoryUse: Hashable, Sendable, Codable {
    public enum Mode: String, Sendable, CaseIterable, Codable { case units, exclusive, shared }
    public var name: String
    public var mode: Mode
    /// Number of units; counts only for the mode `units`.
    public var units: Int32
    public init(name: String, mode: Mode = .units, units: Int32 = 1) {
        self.name = name
        self.mode = mode
        self.units = units
    }
}

extension CategoryUse {
    /// Returns the strictest use of each category, in the order of names. Exclusive is strictest, then most units, then
    /// shared.
    public static func strictest(_ uses: [CategoryUse]) -> [CategoryUse] {
        func strictness(_ use: CategoryUse) -> Int32 {
            switch use.mode {
            case .shared: 0
            case .units: use.units
            case .exclusive: .max
            }
        }
        var result: [CategoryUse] = []
        for use in uses.sorted(by: { ($0.name, strictness($1)) < ($1.name, strictness($0)) })
        where result.last?.name != use.name {
            result.append(CategoryUse(name: use.name, mode: use.mode, units: use.mode == .units ? use.units : 1))
        }
        return result
    }
}
