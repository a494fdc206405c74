export default { base: './', esbuild: { jsx: 'automatic' } };
