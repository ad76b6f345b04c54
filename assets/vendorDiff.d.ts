// The library as the server sends it: a CommonJS file as a module.
declare const differ: { diffArrays: DiffArrays };
export default differ;
